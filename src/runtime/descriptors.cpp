#include "runtime/descriptors.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/runtime.hpp"

namespace meshwise::detail {
namespace {

using Name = std::array<unsigned char, 16>;
constexpr std::size_t most_at_once = 250;  // the kernel's limit of descriptors in one message is 253

socklen_t address_of(const Name& name, sockaddr_un& address) {
  std::memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  char* at = address.sun_path + 1;  // an abstract name: nothing is left in the file system
  at += std::sprintf(at, "meshwise-");
  for (const unsigned char byte : name) at += std::sprintf(at, "%02x", byte);
  return static_cast<socklen_t>(at - reinterpret_cast<char*>(&address));
}

/// The place of the process at the other end; -1 for a stranger's.
int place_of_peer(int socket, const std::vector<pid_t>& pids) {
  ucred who{};
  socklen_t size = sizeof who;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 || who.uid != getuid()) return -1;
  const auto at = std::find(pids.begin(), pids.end(), who.pid);
  return at == pids.end() ? -1 : static_cast<int>(at - pids.begin());
}

// One message: a byte an item, 1 where a descriptor comes with it.
bool send_some(int socket, const int* fds, std::size_t count) {
  std::array<char, most_at_once> present{};
  std::vector<int> valid;
  for (std::size_t k = 0; k < count; ++k) {
    present[k] = fds[k] >= 0;
    if (fds[k] >= 0) valid.push_back(fds[k]);
  }
  iovec part{present.data(), count};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * most_at_once)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!valid.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int) * valid.size());
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int) * valid.size());
    std::memcpy(CMSG_DATA(head), valid.data(), sizeof(int) * valid.size());
  }
  // The kernel bounds how many descriptors may be under way; their receivers are at it.
  for (int patience = 0; patience < 5000; ++patience) {
    if (sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(count)) return true;
    if (errno != ETOOMANYREFS && errno != EINTR) return false;
    usleep(1000);
  }
  return false;
}

bool receive_some(int socket, std::size_t count, std::vector<Descriptor>& out) {
  std::array<char, most_at_once> present{};
  iovec part{present.data(), count};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * most_at_once)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(count)) return false;
  std::vector<Descriptor> came;
  if (const cmsghdr* head = CMSG_FIRSTHDR(&message); head && head->cmsg_type == SCM_RIGHTS) {
    const std::size_t number = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t k = 0; k < number; ++k) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(head) + k * sizeof(int), sizeof fd);
      came.emplace_back(fd);
    }
  }
  std::size_t next = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (present[k] && next == came.size()) return false;
    out.push_back(present[k] ? std::move(came[next++]) : Descriptor());
  }
  return next == came.size() && (message.msg_flags & MSG_CTRUNC) == 0;
}

bool send_all(int socket, const std::vector<int>& fds) {
  for (std::size_t k = 0; k < fds.size(); k += most_at_once)
    if (!send_some(socket, fds.data() + k, std::min(most_at_once, fds.size() - k))) return false;
  return true;
}

bool receive_all(int socket, std::size_t count, std::vector<Descriptor>& out) {
  for (std::size_t k = 0; k < count; k += most_at_once)
    if (!receive_some(socket, std::min(most_at_once, count - k), out)) return false;
  return true;
}

}  // namespace

bool all_true(MPI_Comm node, bool mine) {
  int value = mine ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MIN, node), "sharing memory");
  return value != 0;
}

Descriptor make_memory_file(std::size_t bytes) {
  rlimit limit{};
  // Growing a file beyond this limit would raise a signal, not an error.
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes) return Descriptor();
  Descriptor fd(memfd_create("meshwise", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return fd;
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 || fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return Descriptor();
  return fd;
}

// A star through the node's first rank. Every rank takes part in every agreement, whatever failed before: nobody waits for a message that is
// not coming.
std::vector<std::vector<Descriptor>> share_descriptors(MPI_Comm node, const std::vector<int>& mine) {
  int place = 0, count = 1;
  check_mpi(MPI_Comm_rank(node, &place), "sharing memory");
  check_mpi(MPI_Comm_size(node, &count), "sharing memory");
  const std::size_t each = mine.size(), total = each * static_cast<std::size_t>(count);
  std::vector<pid_t> pids(static_cast<std::size_t>(count));
  const pid_t own = getpid();
  check_mpi(MPI_Allgather(&own, sizeof own, MPI_BYTE, pids.data(), sizeof own, MPI_BYTE, node), "sharing memory");
  Name name{};
  bool fine = getrandom(name.data(), name.size(), 0) == static_cast<ssize_t>(name.size());
  check_mpi(MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_BYTE, 0, node), "sharing memory");
  sockaddr_un address;
  const socklen_t size = address_of(name, address);
  const auto* const where = reinterpret_cast<const sockaddr*>(&address);
  const Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (place == 0) fine = fine && socket.valid() && bind(socket.get(), where, size) == 0 && listen(socket.get(), count) == 0;
  if (!all_true(node, fine)) return {};
  // What a rank sends before it is accepted waits in the connection.
  if (place != 0)
    fine = socket.valid() && connect(socket.get(), where, size) == 0 && place_of_peer(socket.get(), pids) == 0 && send_all(socket.get(), mine);
  // All connections stand in the first rank's queue now: accepting them cannot block.
  if (!all_true(node, fine)) return {};
  std::vector<Descriptor> flat;
  if (place == 0) {
    std::vector<Descriptor> peers(static_cast<std::size_t>(count));
    std::vector<std::vector<Descriptor>> came(static_cast<std::size_t>(count));
    for (int k = 1; k < count; ++k) {
      Descriptor peer(accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
      const int at = peer.valid() ? place_of_peer(peer.get(), pids) : -1;
      if (at <= 0 || peers[static_cast<std::size_t>(at)].valid()) {
        fine = false;
        continue;
      }
      fine = fine && receive_all(peer.get(), each, came[static_cast<std::size_t>(at)]);
      peers[static_cast<std::size_t>(at)] = std::move(peer);
    }
    std::vector<int> all;
    for (const int fd : mine) flat.emplace_back(fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1);
    for (std::size_t k = 1; k < came.size(); ++k) {
      came[k].resize(each);
      for (auto& fd : came[k]) flat.push_back(std::move(fd));
    }
    for (const auto& fd : flat) all.push_back(fd.get());
    // Where this failed the connections close here, and the others read their end.
    for (std::size_t k = 1; k < peers.size(); ++k) fine = fine && send_all(peers[k].get(), all);
  } else {
    fine = receive_all(socket.get(), total, flat);
  }
  if (!all_true(node, fine)) return {};
  std::vector<std::vector<Descriptor>> by_place(static_cast<std::size_t>(count));
  for (std::size_t k = 0; k < flat.size(); ++k) by_place[k / each].push_back(std::move(flat[k]));
  return by_place;
}

}  // namespace meshwise::detail
