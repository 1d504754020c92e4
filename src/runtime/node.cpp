// The node's page: a memfd that its first rank makes and hands to the others over local sockets. It works in containers where
// /proc/PID/fd and /dev/shm do not;
// where it fails for any rank of a node, that node goes without, and nothing is said about it.
#include "runtime/node.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/node_page.hpp"
#include "runtime/runtime.hpp"

namespace meshwise::detail {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void reset(int fd) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

using Name = std::array<unsigned char, 16>;

socklen_t address_of(const Name& name, sockaddr_un& address) {
  std::memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  char* at = address.sun_path + 1;  // an abstract name: nothing is left in the file system
  at += std::sprintf(at, "meshwise-");
  for (const unsigned char byte : name) at += std::sprintf(at, "%02x", byte);
  return static_cast<socklen_t>(at - reinterpret_cast<char*>(&address));
}

bool comes_from(int socket, const std::vector<pid_t>& pids) {
  ucred who{};
  socklen_t size = sizeof who;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == getuid() &&
         std::find(pids.begin(), pids.end(), who.pid) != pids.end();
}

bool send_descriptor(int socket, int fd) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
  return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

int receive_descriptor(int socket) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* head = CMSG_FIRSTHDR(&message);
  if (!head || head->cmsg_type != SCM_RIGHTS) return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
  return fd;
}

bool all_true(MPI_Comm node, bool mine) {
  int value = mine ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MIN, node), "sharing memory");
  return value != 0;
}

// One descriptor of the first rank's to all of the node. Every rank takes part in every agreement, whatever failed before: nobody waits
// for a message
// that is not coming.
bool share(MPI_Comm node, int place, int count, Descriptor& fd) {
  std::vector<pid_t> pids(static_cast<std::size_t>(count));
  const pid_t own = getpid();
  check_mpi(MPI_Allgather(&own, sizeof own, MPI_BYTE, pids.data(), sizeof own, MPI_BYTE, node), "sharing memory");
  Name name{};
  bool fine = getrandom(name.data(), name.size(), 0) == static_cast<ssize_t>(name.size());
  check_mpi(MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_BYTE, 0, node), "sharing memory");
  sockaddr_un address;
  const socklen_t size = address_of(name, address);
  const auto* const where = reinterpret_cast<const sockaddr*>(&address);
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (place == 0) fine = fine && fd.valid() && socket.valid() && bind(socket.get(), where, size) == 0 && listen(socket.get(), count) == 0;
  if (!all_true(node, fine)) return false;
  if (place != 0) fine = socket.valid() && connect(socket.get(), where, size) == 0 && comes_from(socket.get(), {pids[0]});
  // All connections stand in the first rank's queue now: accepting them cannot block.
  if (!all_true(node, fine)) return false;
  if (place == 0) {
    for (int k = 1; k < count; ++k) {
      const Descriptor peer(accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
      fine = fine && peer.valid() && comes_from(peer.get(), pids) && send_descriptor(peer.get(), fd.get());
    }
  } else {
    fd.reset(receive_descriptor(socket.get()));
    fine = fd.valid();
  }
  return all_true(node, fine);
}

void make_page(Runtime& r, MPI_Comm node) {
  int place = 0, count = 1;
  check_mpi(MPI_Comm_rank(node, &place), "sharing memory");
  check_mpi(MPI_Comm_size(node, &count), "sharing memory");
  r.node_ranks.resize(static_cast<std::size_t>(count));
  check_mpi(MPI_Allgather(&r.rank, 1, MPI_INT, r.node_ranks.data(), 1, MPI_INT, node), "sharing memory");
  if (count == 1) return;
  const std::size_t bytes = sizeof(NodePage) + static_cast<std::size_t>(count) * sizeof(NodePage::Slot);
  Descriptor fd(place == 0 ? memfd_create("meshwise", MFD_CLOEXEC) : -1);
  if (place == 0 && fd.valid() && ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) fd.reset(-1);
  if (!share(node, place, count, fd)) return;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  const bool mapped = memory != MAP_FAILED;
  auto* const page = mapped ? static_cast<NodePage*>(memory) : nullptr;
  if (page && place == 0) page->start(count);
  if (!all_true(node, mapped)) return;
  page->take(place, r.rank);
  all_true(node, true);  // every slot is taken before anybody looks
  node_page() = {page, place, count};
}

}  // namespace

NodeView& node_page() {
  static NodeView view;
  return view;
}

void NodePage::start(int count) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  for (int k = 0; k < count; ++k) pthread_mutex_init(&slot(k).held_for_life, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

void NodePage::take(int place, int rank) {
  slot(place).rank = rank;
  pthread_mutex_lock(&slot(place).held_for_life);
  slot(place).state.store(Presence::here);
}

bool NodePage::has_died(int place) {
  // The kernel marks a robust mutex at once when its owner dies, before it frees the memory: milliseconds earlier than any socket closes.
  pthread_mutex_t& mutex = slot(place).held_for_life;
  switch (pthread_mutex_trylock(&mutex)) {
    case EOWNERDEAD:
      pthread_mutex_unlock(&mutex);
      return true;  // unrepaired, so that the next to ask is told as well
    case ENOTRECOVERABLE:
      return true;
    case 0:
      pthread_mutex_unlock(&mutex);
      return false;
    default:
      return false;
  }
}

void begin_node(Runtime& r) {
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(r.base, MPI_COMM_TYPE_SHARED, r.rank, MPI_INFO_NULL, &host), "finding the node");
  int leader = r.rank;
  check_mpi(MPI_Bcast(&leader, 1, MPI_INT, 0, host), "finding the node");
  const auto pretended = static_cast<int>(std::min<std::int64_t>(r.settings.node_size, r.size));
  MPI_Comm node = host;
  if (pretended > 0) {
    leader = r.rank / pretended * pretended;
    check_mpi(MPI_Comm_split(host, leader, r.rank, &node), "finding the node");
  }
  std::vector<int> leaders(static_cast<std::size_t>(r.size));
  check_mpi(MPI_Allgather(&leader, 1, MPI_INT, leaders.data(), 1, MPI_INT, r.base), "finding the node");
  const int size = static_cast<int>(std::count(leaders.begin(), leaders.end(), leaders[0]));
  bool regular = true;
  for (int k = 0; k < r.size; ++k) regular = regular && leaders[static_cast<std::size_t>(k)] == k / size * size;
  // A plan knows nodes as equal runs of ranks. Where ranks are dealt to hosts in turn, each counts as a node of its own: right, if not
  // the best.
  r.topology.ranks_per_node = !regular ? 1 : size == r.size ? 0 : size;
  make_page(r, node);
  if (node != host) MPI_Comm_free(&node);
  MPI_Comm_free(&host);
}

void leave_node() {
  auto& [page, place, count] = node_page();
  if (!page) return;
  page->slot(place).state.store(Presence::gone);
  pthread_mutex_unlock(&page->slot(place).held_for_life);
}

bool claim_words() {
  static std::atomic<bool> own{false};
  NodePage* const page = node_page().page;
  if (!page) return !own.exchange(true);
  int silent = 0;
  if (page->words.compare_exchange_strong(silent, 1)) return true;
  for (int k = 0; k < 300 && page->words.load() != 2; ++k) usleep(1000);  // whoever prints must not be ended in the middle of it
  return false;
}

void words_are_out() {
  if (NodePage* const page = node_page().page) page->words.store(2);
}

}  // namespace meshwise::detail
