#include "runtime/engine.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "meshwise/base/error.hpp"
#include "runtime/runtime.hpp"

namespace meshwise::detail {
namespace {

MPI_Request receive_control(Runtime& r) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Irecv(r.engine.control_buffer.data(), static_cast<int>(control_limit), MPI_BYTE, MPI_ANY_SOURCE, control_tag, r.control,
                      &request),
            "receiving control messages");
  return request;
}

void finish_control_receive(Engine& engine, const MPI_Status& status) {
  Runtime& r = runtime();
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  ControlHead head;
  const bool whole = static_cast<std::size_t>(bytes) >= sizeof head;
  std::string text;
  if (whole) {
    std::memcpy(&head, engine.control_buffer.data(), sizeof head);
    text.assign(reinterpret_cast<const char*>(engine.control_buffer.data()) + sizeof head, static_cast<std::size_t>(bytes) - sizeof head);
  }
  engine.requests[0] = receive_control(r);
  if (whole) on_control(head, text);
}

void finish(Pending& what, const MPI_Status& status) {
  if (status.MPI_ERROR != MPI_SUCCESS && status.MPI_ERROR != MPI_ERR_PENDING) check_mpi(status.MPI_ERROR, "moving data");
  switch (what.kind) {
    case Pending::Kind::control_receive:
    case Pending::Kind::control_send:
      return;
    case Pending::Kind::head_send:
      return on_head_sent(*what.task);
    case Pending::Kind::head_receive: {
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      return on_head_received(what.peer, bytes);
    }
    case Pending::Kind::chunk_send:
      return on_chunk_sent(*what.task, *what.chunk);
    case Pending::Kind::chunk_receive:
      return on_chunk_received(*what.task, *what.chunk);
  }
}

bool test_all(Engine& engine) {
  const std::size_t count = engine.requests.size();
  if (count == 0) return false;
  engine.indices.resize(count);
  engine.statuses.resize(count);
  for (auto& status : engine.statuses) status.MPI_ERROR = MPI_SUCCESS;
  int done = 0;
  const int code = MPI_Testsome(static_cast<int>(count), engine.requests.data(), &done, engine.indices.data(), engine.statuses.data());
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) check_mpi(code, "testing requests");
  if (done == MPI_UNDEFINED || done <= 0) return false;
  // What is complete leaves the list before anything acts on it: acting adds requests.
  std::vector<std::pair<Pending, MPI_Status>> complete;
  bool control = false;
  MPI_Status control_status{};
  for (int k = 0; k < done; ++k) {
    const auto at = static_cast<std::size_t>(engine.indices[static_cast<std::size_t>(k)]);
    const MPI_Status& status = engine.statuses[static_cast<std::size_t>(k)];
    if (at == 0) {
      control = true;
      control_status = status;
    } else {
      complete.emplace_back(std::move(engine.pending[at]), status);
    }
  }
  std::size_t kept = 1;
  for (std::size_t k = 1; k < count; ++k) {
    if (engine.requests[k] == MPI_REQUEST_NULL) continue;
    if (kept != k) {
      engine.requests[kept] = engine.requests[k];
      engine.pending[kept] = std::move(engine.pending[k]);
    }
    ++kept;
  }
  engine.requests.resize(kept);
  engine.pending.erase(engine.pending.begin() + static_cast<std::ptrdiff_t>(kept), engine.pending.end());
  if (control) finish_control_receive(engine, control_status);
  for (auto& [what, status] : complete) finish(what, status);
  return true;
}

// Whoever serves is not to blame: the failure belongs to the calls that depend on it.
template <class F>
bool guarded(F&& serve) {
  try {
    return serve();
  } catch (const std::exception& error) {
    spread_failure(FailureKind::communication, fmt::format("rank {}: {}", runtime().rank, error.what()));
    return false;
  }
}

}  // namespace

MPI_Comm duplicate(MPI_Comm from) {
  MPI_Comm made = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(from, &made), "duplicating the communicator");
  check_mpi(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN), "duplicating the communicator");
  return made;
}

void begin_engine(Runtime& r) {
  r.data = duplicate(r.base);
  r.control = duplicate(r.base);
  r.rolls = {};
  r.rolls.said_bye.assign(static_cast<std::size_t>(r.size), false);
  if (r.size == 1) return;
  Engine& engine = r.engine;
  engine.heads_sent = engine.heads_received = 0;
  engine.out.clear();
  engine.in.clear();
  engine.out.resize(static_cast<std::size_t>(r.size));
  engine.in.resize(static_cast<std::size_t>(r.size));
  engine.control_buffer.resize(control_limit);
  engine.add(receive_control(r), Pending{Pending::Kind::control_receive});
}

void drop_requests(Engine& engine) {
  for (std::size_t k = 0; k < engine.requests.size(); ++k) {
    const auto kind = engine.pending[k].kind;
    const bool receives =
        kind == Pending::Kind::control_receive || kind == Pending::Kind::head_receive || kind == Pending::Kind::chunk_receive;
    if (receives) {
      MPI_Cancel(&engine.requests[k]);
      MPI_Wait(&engine.requests[k], MPI_STATUS_IGNORE);
    } else {
      MPI_Request_free(&engine.requests[k]);
      engine.abandoned.push_back(std::move(engine.pending[k]));
    }
  }
  engine.requests.clear();
  engine.pending.clear();
  engine.abandoned_movements.splice(engine.abandoned_movements.end(), engine.live);
  engine.live_count = engine.chunked = 0;
  drop_node_tasks(engine.node);
  engine.staged[0] = engine.staged[1] = 0;
}

Voided::~Voided() {
  for (const auto& movement : movements) movement->let_go();
}

Voided void_engine(Runtime& r, const std::string& why) {
  drop_requests(r.engine);
  Voided voided;
  voided.movements.swap(r.engine.abandoned_movements);
  voided.sends.swap(r.engine.abandoned);
  for (const auto& movement : voided.movements) movement->give_up(why);
  for (auto& [ranks, group] : r.groups.known)
    if (group && group->communicator != MPI_COMM_NULL) r.groups.spoiled.push_back(group->communicator);
  r.groups.known.clear();
  if (r.size > 1) begin_engine(r);
  return voided;
}

bool progress_on_node_locked() {
  return guarded([] { return serve_node(runtime(), on_main_thread()); });
}

bool progress_locked() {
  // While there is work on the node MPI gets a look now and then.
  Engine& engine = runtime().engine;
  if (progress_on_node_locked() && ++engine.busy % 16 != 0) return true;
  return guarded([&] { return test_all(engine); });
}

bool progress() {
  Runtime& r = runtime();
  if (r.size == 1) return false;
  const std::scoped_lock hold(r.lock);
  return progress_locked();
}

void poll() {
  Runtime& r = runtime();
  if (r.size == 1 || !r.running()) return;
  const bool pending = r.engine.live_count.load(std::memory_order_relaxed) > 0;
  if (!pending) {
    if (r.threads && r.settings.progress_thread) return;
    // Without a progress thread this is where news of failures come in.
    static thread_local Clock::time_point last{};
    const auto now = Clock::now();
    if (now - last < std::chrono::milliseconds(1)) return;
    last = now;
  }
  // The progress thread may be at it: then this thread has better things to do than wait for it.
  std::unique_lock hold(r.lock, std::try_to_lock);
  if (hold.owns_lock()) progress_locked();
}

}  // namespace meshwise::detail
