// Calls that the tests of the runtime make by hand, as operations on arrays make them later.
#pragma once

#include <meshwise/base/error.hpp>
#include <meshwise/runtime/collectives.hpp>
#include <meshwise/runtime/environment.hpp>
#include <meshwise/runtime/sequence.hpp>
#include <meshwise/runtime/transport.hpp>
#include <meshwise/runtime/watch.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace support {

using meshwise::Device;
using meshwise::DeviceList;
using meshwise::Shape;
using meshwise::detail::Call;
using meshwise::detail::Exchange;
using meshwise::detail::StridedBox;
using meshwise::detail::Ticket;
using meshwise::detail::Transfer;

inline const Shape& some_shape() {
  static const Shape shape{8, 16};
  return shape;
}

// Enters a call on `list`; `salt` stands for what else of the call must agree.
inline Ticket enter(std::string_view operation, const DeviceList& list, std::uint64_t salt = 0) {
  const Call call{
      .operation = operation, .hash = meshwise::detail::mix(meshwise::detail::hash_text(operation), salt), .shape = &some_shape()};
  Ticket ticket = meshwise::detail::enter_call(call, {&list});
  meshwise::detail::describe(ticket, "");
  return ticket;
}

// A move's call: on two lists.
inline Ticket enter(std::string_view operation, const DeviceList& from, const DeviceList& to) {
  const Call call{.operation = operation, .hash = meshwise::detail::hash_text(operation), .shape = &some_shape()};
  Ticket ticket = meshwise::detail::enter_call(call, {&from, &to});
  meshwise::detail::describe(ticket, "");
  return ticket;
}

inline StridedBox run_of(std::byte* base, std::int64_t bytes) { return {base, {bytes}, {1}, 1}; }

// A transfer under way with the blocks it moves between.
struct Moving {
  std::shared_ptr<meshwise::detail::Block> out, in;
  std::shared_ptr<Transfer> transfer;
  void wait() const {
    if (transfer) transfer->wait();
  }
  bool holds(unsigned char value) const {
    for (std::size_t k = 0; k < in->size(); ++k) {
      if (in->data()[k] != std::byte{value}) return false;
    }
    return true;
  }
};

// Sends `bytes` bytes of `value` to rank `to` and receives as many from rank `from`; -1 is nobody.
inline Moving move(const Ticket& ticket, std::int64_t to, std::int64_t from, std::int64_t bytes, unsigned char value) {
  Moving m;
  m.out = meshwise::detail::block_store().allocate(static_cast<std::size_t>(bytes));
  m.in = meshwise::detail::block_store().allocate(static_cast<std::size_t>(bytes));
  std::memset(m.out->data(), value, m.out->size());
  std::vector<Exchange> sends, receives;
  if (to >= 0) sends.push_back({to, {run_of(m.out->data(), bytes)}});
  if (from >= 0) receives.push_back({from, {run_of(m.in->data(), bytes)}});
  m.transfer = meshwise::detail::post(ticket, std::move(sends), std::move(receives), {m.out, m.in});
  return m;
}

// The sum of (1 + device id) over `list`, by a collective call of that name.
inline std::int64_t sum(const DeviceList& list, std::string_view operation, std::uint64_t salt = 0) {
  const Ticket ticket = enter(operation, list, salt);
  std::vector<Device> group;
  std::vector<std::int64_t> values;
  for (const Device& device : list) {
    group.push_back(device);
    if (device.rank == meshwise::process_index()) values.push_back(device.id + 1);
  }
  std::vector<meshwise::detail::LocalPart> mine;
  for (auto& value : values) mine.push_back({reinterpret_cast<std::byte*>(&value)});
  const auto add = [](std::byte* acc, const std::byte* in, std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k) reinterpret_cast<std::int64_t*>(acc)[k] += reinterpret_cast<const std::int64_t*>(in)[k];
  };
  std::ignore = meshwise::detail::all_reduce(group, mine, 1, sizeof(std::int64_t), add, ticket);
  return values.empty() ? 0 : values[0];
}

}  // namespace support
