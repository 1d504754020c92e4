#include "io/checkpoint/checkpointer.hpp"

#include <exception>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "io/agreement.hpp"
#include "io/checkpoint/commit.hpp"
#include "io/checkpoint/meter.hpp"
#include "io/packed_text.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/sequence.hpp"
#include "meshwise/runtime/transport.hpp"
#include "meshwise/runtime/watch.hpp"

namespace meshwise::io {

namespace {

using detail::agreed;

// A save that is still wanted when the program ends is committed.
void commit_at_shutdown(const std::weak_ptr<Checkpointer::State>& checkpointer) {
  const auto state = checkpointer.lock();
  const auto saving = state ? state->in_flight.lock() : nullptr;
  if (!saving || saving->report || saving->failed) return;
  try {
    saving->finish();
  } catch (const std::exception& e) {
    if (process_index() == 0) fmt::print(stderr, "meshwise: {}\n", e.what());
  }
}

}  // namespace

Checkpointer::Checkpointer(const std::string& folder, CheckpointOptions options) : state_(std::make_shared<State>()) {
  const auto ticket = detail::enter_world_call({"Checkpointer", detail::hash_text("Checkpointer")});
  const auto call = fmt::format("Checkpointer('{}')", folder);
  detail::same_call("Checkpointer", call, ticket);
  state_->options = std::move(options);
  // Rank 0's current folder is what a relative path means; another rank, on another host, may have another.
  state_->root = agreed(call, ticket, [&]() -> std::string {
    if (process_index() != 0) return {};
    auto root = detail::absolute_path(folder);
    if (detail::list_steps(root).stale.empty()) return root;
    try {
      if (const auto lock = detail::FolderLock::try_lock(root)) detail::sweep(root);
    } catch (const CheckpointError&) {
      // Who may only read may load what is there.
    }
    return root;
  })[0];
  detail::at_shutdown([state = std::weak_ptr(state_)] { commit_at_shutdown(state); });
}

std::shared_ptr<detail::SaveJob> Checkpointer::State::begin(std::int64_t step, const Tree& tree, SaveOptions save_options) {
  const auto before = in_flight.lock();
  const bool pending = before && !before->report && !before->failed;
  detail::SaveRequest request{root,
                              step,
                              detail::Leaves(tree),
                              process_index() == 0 ? detail::tree_text(tree) : "",
                              std::move(save_options),
                              options.keep,
                              pending ? before->job->uuid() : ""};
  detail::check_alike(request, tree);
  detail::compare_replicas(request);
  if (pending) before->finish();
  return detail::SaveJob::begin(std::move(request), [&] {
    if (!lock) lock = detail::FolderLock::lock(root, [](const auto& done) { detail::wait_until(done, "a checkpoint folder's lock"); });
  });
}

SaveReport Checkpointer::save(std::int64_t step, const Tree& tree, SaveOptions options) {
  const auto job = state_->begin(step, tree, std::move(options));
  detail::Meter meter(state_->options);
  const auto between = [&] {
    detail::poll();
    meter.show(job->progress());
  };
  job->write(between, true);
  auto report = job->commit();
  state_->last_save = std::chrono::steady_clock::now();
  return report;
}

Saving Checkpointer::save_async(std::int64_t step, const Tree& tree, SaveOptions options) {
  const auto state = std::make_shared<Saving::State>();
  state->job = state_->begin(step, tree, std::move(options));
  state->checkpointer = state_;
  const auto write = [s = state.get()] {
    s->job->write([] {}, false);
    s->written.store(true, std::memory_order_release);
  };
  try {
    state->thread = std::thread([write] {
      // Where ranks share cores, those that have yet to return come first: save_async returned after 8 ms, and returns after 2.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      write();
    });
  } catch (const std::system_error&) {  // this rank can have no more threads: it writes now, and the others need not know
    write();
  }
  state_->in_flight = state;
  state_->last_save = std::chrono::steady_clock::now();
  return Saving(state);
}

Saving::State::~State() {
  if (!job) return;
  if (thread.joinable()) {
    job->stop_writing();
    thread.join();
  }
  // An exception that passes by has its own words.
  if (std::uncaught_exceptions() == 0 && process_index() == 0)
    fmt::print(stderr, "meshwise: the save of step {} is abandoned: its handle is gone, and nobody called wait()\n", job->progress().step);
}

SaveReport Saving::State::finish() {
  detail::check_running("Saving::wait");
  detail::Meter meter(checkpointer->options);
  detail::wait_until(
      [&] {
        meter.show(job->progress());
        return written.load(std::memory_order_acquire);
      },
      "a save's bytes to reach the disk");
  if (thread.joinable()) thread.join();
  const auto done = std::exchange(job, nullptr);
  failed = true;
  report = done->commit();
  failed = false;
  return *report;
}

bool Saving::poll() const { return state_ && state_->written.load(std::memory_order_acquire); }

Progress Saving::progress() const {
  if (!state_) return {};
  if (state_->job) return state_->job->progress();
  return {"save", state_->report ? state_->report->step : 0, 1, 1};
}

SaveReport Saving::wait() {
  if (!state_) throw CheckpointError("Saving::wait: this is no save; save_async makes one");
  if (state_->report) return *state_->report;
  if (state_->failed) throw CheckpointError("Saving::wait: the save has failed before");
  return state_->finish();
}

std::vector<std::int64_t> Checkpointer::steps() {
  const auto ticket = detail::enter_world_call({"steps", detail::hash_text("steps")});
  const auto text = agreed(fmt::format("steps of '{}'", state_->root), ticket, [&]() -> std::string {
    if (process_index() != 0) return {};
    detail::PackedText steps;
    steps.add(detail::good_steps(state_->root));
    return steps.text();
  })[0];
  return detail::UnpackedText(text).values<std::int64_t>();
}

Latest Checkpointer::latest() {
  const auto all = steps();
  return {all.empty() ? -1 : all.back()};
}

std::string Checkpointer::metadata(std::int64_t step) {
  const auto ticket = detail::enter_world_call({"metadata", detail::hash_text("metadata")});
  const auto call = fmt::format("metadata({}) of '{}'", step, state_->root);
  detail::same_call("metadata", call, ticket);
  return agreed(call, ticket,
                [&]() -> std::string { return process_index() == 0 ? detail::read_manifest(state_->path_of(step)).metadata : ""; })[0];
}

void Checkpointer::remove(std::int64_t step) {
  const auto ticket = detail::enter_world_call({"remove", detail::hash_text("remove")});
  const auto call = fmt::format("remove({}) of '{}'", step, state_->root);
  detail::same_call("remove", call, ticket);
  agreed(call, ticket, [&]() -> std::string {
    if (process_index() == 0) detail::remove_step(state_->path_of(step));
    return {};
  });
}

bool Checkpointer::stop_requested() const { return state_->stop_requested; }

const std::string& Checkpointer::folder() const { return state_->root; }

}  // namespace meshwise::io
