#include "support/counters.hpp"

#include <mpi.h>

#include <atomic>
#include <mutex>
#include <vector>

namespace support {
namespace {

std::mutex mutex;
std::vector<const Counters*> living;
Counters ended;  // the sum over threads that are gone

void add(Counters& sum, const Counters& more) { sum = sum - (Counters{} - more); }

// A thread counts while another may read: the progress thread does.
void bump(std::uint64_t& count, std::uint64_t by = 1) { std::atomic_ref(count).fetch_add(by, std::memory_order_relaxed); }

Counters read(const Counters& counts) {
  Counters out = {};
  for (const auto field : {&Counters::calls, &Counters::messages, &Counters::bytes, &Counters::received, &Counters::collectives, &Counters::polls, &Counters::waits,
                           &Counters::communicators})
    out.*field = std::atomic_ref(const_cast<std::uint64_t&>(counts.*field)).load(std::memory_order_relaxed);
  return out;
}

// Registers this thread's counts for as long as it lives.
struct Thread {
  Counters counts;
  Thread() {
    const std::scoped_lock lock(mutex);
    living.push_back(&counts);
  }
  ~Thread() {
    const std::scoped_lock lock(mutex);
    std::erase(living, &counts);
    add(ended, counts);
  }
};

Counters& mine() {
  thread_local Thread thread;
  return thread.counts;
}

std::uint64_t volume(int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

void sends(int count, MPI_Datatype type) {
  Counters& c = mine();
  bump(c.calls);
  bump(c.messages);
  bump(c.bytes, volume(count, type));
}

void receives() {
  bump(mine().calls);
  bump(mine().received);
}

void polls() {
  bump(mine().calls);
  bump(mine().polls);
}

void waits() {
  bump(mine().calls);
  bump(mine().waits);
}

void communicators() {
  bump(mine().calls);
  bump(mine().communicators);
}

void collective(std::uint64_t bytes = 0) {
  Counters& c = mine();
  bump(c.calls);
  bump(c.collectives);
  bump(c.bytes, bytes);
}

int size_of(MPI_Comm comm) {
  int inter = 0, size = 0;
  PMPI_Comm_test_inter(comm, &inter);
  inter ? PMPI_Comm_remote_size(comm, &size) : PMPI_Comm_size(comm, &size);
  return size;
}

// What one rank puts into an all-to-all, or the root into a scatter, with a count a peer.
std::uint64_t total(const int* counts, MPI_Datatype type, MPI_Comm comm) {
  std::uint64_t sum = 0;
  for (int r = 0; r < size_of(comm); ++r) sum += volume(counts[r], type);
  return sum;
}

std::uint64_t total(const int* counts, const MPI_Datatype* types, MPI_Comm comm) {
  std::uint64_t sum = 0;
  for (int r = 0; r < size_of(comm); ++r) sum += volume(counts[r], types[r]);
  return sum;
}

// With MPI_IN_PLACE the send arguments mean nothing and the receive ones hold.
std::uint64_t volume(const void* send, int count, MPI_Datatype type, int in_place_count, MPI_Datatype in_place_type) {
  return send == MPI_IN_PLACE ? volume(in_place_count, in_place_type) : volume(count, type);
}

std::uint64_t volume_to_all(const void* send, int count, MPI_Datatype type, int in_place_count, MPI_Datatype in_place_type, MPI_Comm comm) {
  return volume(send, count, type, in_place_count, in_place_type) * static_cast<std::uint64_t>(size_of(comm));
}

std::uint64_t at_root(std::uint64_t bytes, int root, MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank == root ? bytes : 0;
}

}  // namespace

Counters snapshot() { return mine(); }

Counters snapshot_all_threads() {
  mine();
  const std::scoped_lock lock(mutex);
  Counters sum = ended;
  for (const Counters* counts : living) add(sum, read(*counts));
  return sum;
}

std::string to_string(const Counters& counters) {
  std::string text;
  const auto say = [&](std::uint64_t n, const char* what) {
    if (n) text += (text.empty() ? "" : ", ") + std::to_string(n) + " " + what;
  };
  say(counters.calls, "calls");
  say(counters.messages, "messages");
  say(counters.bytes, "bytes");
  say(counters.received, "received");
  say(counters.collectives, "collectives");
  say(counters.polls, "polls");
  say(counters.waits, "waits");
  say(counters.communicators, "communicators");
  return text.empty() ? "nothing" : text;
}

}  // namespace support

// The wrappers. The executable's definitions come before those of the shared library libmpi, so a call of
// the library under test, of Boost.MPI or of HDF5 lands here; PMPI_* does the work.
using namespace support;
extern "C" {

// Point to point
#define SENDS(NAME)                                                                                  \
  int MPI_##NAME(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) { \
    sends(count, type);                                                                              \
    return PMPI_##NAME(buffer, count, type, to, tag, comm);                                          \
  }
#define STARTS(NAME)                                                                                                       \
  int MPI_##NAME(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) { \
    sends(count, type);                                                                                                    \
    return PMPI_##NAME(buffer, count, type, to, tag, comm, request);                                                       \
  }
SENDS(Send)
SENDS(Ssend)
SENDS(Bsend)
SENDS(Rsend)
STARTS(Isend)
STARTS(Issend)
STARTS(Ibsend)
STARTS(Irsend)

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  receives();
  return PMPI_Recv(buffer, count, type, from, tag, comm, status);
}
int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  receives();
  return PMPI_Irecv(buffer, count, type, from, tag, comm, request);
}
int MPI_Mrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  receives();
  return PMPI_Mrecv(buffer, count, type, message, status);
}
int MPI_Imrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
  receives();
  return PMPI_Imrecv(buffer, count, type, message, request);
}
int MPI_Sendrecv(const void* send, int send_count, MPI_Datatype send_type, int to, int send_tag, void* receive, int receive_count,
                 MPI_Datatype receive_type, int from, int receive_tag, MPI_Comm comm, MPI_Status* status) {
  sends(send_count, send_type);
  bump(mine().received);
  return PMPI_Sendrecv(send, send_count, send_type, to, send_tag, receive, receive_count, receive_type, from, receive_tag, comm, status);
}

// Polls and waits
int MPI_Iprobe(int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  polls();
  return PMPI_Iprobe(from, tag, comm, flag, status);
}
int MPI_Improbe(int from, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  polls();
  return PMPI_Improbe(from, tag, comm, flag, message, status);
}
int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  polls();
  return PMPI_Test(request, flag, status);
}
int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  polls();
  return PMPI_Testany(count, requests, index, flag, status);
}
int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  polls();
  return PMPI_Testall(count, requests, flag, statuses);
}
int MPI_Testsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
  polls();
  return PMPI_Testsome(count, requests, done, indices, statuses);
}
int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status* status) {
  waits();
  return PMPI_Probe(from, tag, comm, status);
}
int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  waits();
  return PMPI_Mprobe(from, tag, comm, message, status);
}
int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  waits();
  return PMPI_Wait(request, status);
}
int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  waits();
  return PMPI_Waitany(count, requests, index, status);
}
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  waits();
  return PMPI_Waitall(count, requests, statuses);
}
int MPI_Waitsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
  waits();
  return PMPI_Waitsome(count, requests, done, indices, statuses);
}

// Collectives, each blocking and non-blocking: ARGS are the parameters, PASS the arguments, BYTES this rank's part.
#define UNPACK(...) __VA_ARGS__
#define COLLECTIVE(NAME, INAME, ARGS, PASS, BYTES)     \
  int MPI_##NAME(UNPACK ARGS) {                        \
    collective(BYTES);                                 \
    return PMPI_##NAME(UNPACK PASS);                   \
  }                                                    \
  int MPI_##INAME(UNPACK ARGS, MPI_Request* request) { \
    collective(BYTES);                                 \
    return PMPI_##INAME(UNPACK PASS, request);         \
  }
COLLECTIVE(Barrier, Ibarrier, (MPI_Comm comm), (comm), 0)
COLLECTIVE(Bcast, Ibcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm comm), (b, n, t, root, comm),
           at_root(volume(n, t), root, comm))
COLLECTIVE(Reduce, Ireduce, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm),
           (s, r, n, t, op, root, comm), volume(n, t))
COLLECTIVE(Allreduce, Iallreduce, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), (s, r, n, t, op, comm),
           volume(n, t))
COLLECTIVE(Scan, Iscan, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), (s, r, n, t, op, comm), volume(n, t))
COLLECTIVE(Exscan, Iexscan, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), (s, r, n, t, op, comm), volume(n, t))
COLLECTIVE(Reduce_scatter, Ireduce_scatter, (const void* s, void* r, const int ns[], MPI_Datatype t, MPI_Op op, MPI_Comm comm),
           (s, r, ns, t, op, comm), total(ns, t, comm))
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),
           (s, r, n, t, op, comm), volume(n, t) * static_cast<std::uint64_t>(size_of(comm)))
COLLECTIVE(Gather, Igather, (const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, int root, MPI_Comm comm),
           (s, sn, st, r, rn, rt, root, comm), volume(s, sn, st, rn, rt))
COLLECTIVE(Gatherv, Igatherv,
           (const void* s, int sn, MPI_Datatype st, void* r, const int rn[], const int rd[], MPI_Datatype rt, int root, MPI_Comm comm),
           (s, sn, st, r, rn, rd, rt, root, comm), s == MPI_IN_PLACE ? 0 : volume(sn, st))
COLLECTIVE(Scatter, Iscatter, (const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, int root, MPI_Comm comm),
           (s, sn, st, r, rn, rt, root, comm), at_root(1, root, comm) ? volume(sn, st) * static_cast<std::uint64_t>(size_of(comm)) : 0)
COLLECTIVE(Scatterv, Iscatterv,
           (const void* s, const int sn[], const int sd[], MPI_Datatype st, void* r, int rn, MPI_Datatype rt, int root, MPI_Comm comm),
           (s, sn, sd, st, r, rn, rt, root, comm), at_root(1, root, comm) ? total(sn, st, comm) : 0)
COLLECTIVE(Allgather, Iallgather, (const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, MPI_Comm comm),
           (s, sn, st, r, rn, rt, comm), volume(s, sn, st, rn, rt))
COLLECTIVE(Allgatherv, Iallgatherv,
           (const void* s, int sn, MPI_Datatype st, void* r, const int rn[], const int rd[], MPI_Datatype rt, MPI_Comm comm),
           (s, sn, st, r, rn, rd, rt, comm), s == MPI_IN_PLACE ? 0 : volume(sn, st))
COLLECTIVE(Alltoall, Ialltoall, (const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, MPI_Comm comm),
           (s, sn, st, r, rn, rt, comm), volume_to_all(s, sn, st, rn, rt, comm))
COLLECTIVE(Alltoallv, Ialltoallv,
           (const void* s, const int sn[], const int sd[], MPI_Datatype st, void* r, const int rn[], const int rd[], MPI_Datatype rt,
            MPI_Comm comm),
           (s, sn, sd, st, r, rn, rd, rt, comm), s == MPI_IN_PLACE ? total(rn, rt, comm) : total(sn, st, comm))
COLLECTIVE(Alltoallw, Ialltoallw,
           (const void* s, const int sn[], const int sd[], const MPI_Datatype st[], void* r, const int rn[], const int rd[],
            const MPI_Datatype rt[], MPI_Comm comm),
           (s, sn, sd, st, r, rn, rd, rt, comm), s == MPI_IN_PLACE ? total(rn, rt, comm) : total(sn, st, comm))

// Communicators
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  communicators();
  return PMPI_Comm_dup(comm, made);
}
int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
  communicators();
  return PMPI_Comm_idup(comm, made, request);
}
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  communicators();
  return PMPI_Comm_split(comm, color, key, made);
}
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
  communicators();
  return PMPI_Comm_split_type(comm, type, key, info, made);
}
int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  communicators();
  return PMPI_Comm_create(comm, group, made);
}
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
  communicators();
  return PMPI_Comm_create_group(comm, group, tag, made);
}
int MPI_Comm_free(MPI_Comm* comm) {
  communicators();
  return PMPI_Comm_free(comm);
}

}  // extern "C"
