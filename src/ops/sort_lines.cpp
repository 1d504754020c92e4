#include <algorithm>
#include <utility>
#include <vector>

#include "array/move.hpp"
#include "array/negotiate.hpp"
#include "array/rehearsal.hpp"
#include "meshwise/runtime/watch.hpp"
#include "ops/kernels/sort.hpp"
#include "ops/part_exchange.hpp"
#include "ops/sort_parts.hpp"
#include "ops/split_axis.hpp"

namespace meshwise::detail {

namespace {

class SortedLines {
 public:
  SortedLines(const Request& request, const Negotiated& negotiated, std::int64_t along, bool descending, bool want_places)
      : x_(*request.operands[0].array()),
        dtype_(request.dtype),
        axis_(request.attributes.axes[0]),
        along_(along),
        descending_(descending),
        want_places_(want_places),
        ticket_(negotiated.ticket),
        end_{.sharding = negotiated.layout->result, .shape = x_.shape()},
        devices_(end_.sharding.devices()),
        split_(split_of(x_, axis_)) {
    for (const auto& shard : ready_shards(x_)) here_.push_back({shard.position, shard.data, LocalArray(shard.data.shape(), dtype_), {}});
  }

  Array run() {
    const auto first = end_.box_at(0);
    const auto bytes = x_.nbytes() / devices_.size();
    const auto rounds = bytes < worth_rounds ? 1 : std::clamp<std::int64_t>(first[along_].size() / split_.parts, 1, 8);
    for (std::int64_t round = 0; round < rounds && !here_.empty(); ++round) {
      bring(round, rounds);
      for (auto& here : here_)
        here.lines = want_places_ ? run_argsort(here.lines, axis_, descending_, dtype_) : run_sort(here.lines, axis_, descending_);
      take_back(round, rounds);
    }
    std::vector<LocalShard> shards;
    for (auto& here : here_) shards.push_back({here.position, std::move(here.result)});
    return make_sharded_array(x_.shape(), dtype_, end_.sharding, true, std::move(shards));
  }

 private:
  struct Here {
    std::int64_t position;
    LocalArray block, result, lines;
  };

  /// The lines that device t of those who share lines sorts in a round, as numbers in its block.
  Range lines_of(std::int64_t position, std::int64_t round, std::int64_t rounds) const {
    const auto panel = part(round, rounds, end_.box_at(position)[along_].size());
    const auto own = part(split_.part_at(position), split_.parts, panel.size());
    return {panel.start + own.start, panel.start + own.stop};
  }

  /// Whole lines, without values.
  LocalArray room_for(std::int64_t position, const Range& lines) const {
    auto shape = end_.box_at(position).shape();
    shape[along_] = lines.size();
    shape[axis_] = x_.shape()[axis_];
    return LocalArray(shape, x_.dtype());
  }

  Here* find(std::int64_t position) {
    const auto found = std::find_if(here_.begin(), here_.end(), [&](const Here& here) { return here.position == position; });
    return found == here_.end() ? nullptr : &*found;
  }

  // f(position that has whole lines, that which has a part of them, the part's box in the lines, the lines' box in its block)
  template <class F>
  void for_all_pieces(std::int64_t round, std::int64_t rounds, F&& f) const {
    for (std::int64_t position = 0; position < devices_.size(); ++position) {
      const auto lines = lines_of(position, round, rounds);
      for (std::int64_t t = 0; t < split_.parts; ++t) {
        const auto other = split_.first_of(position) + split_.offset_of(t);
        auto in_block = Index::whole(end_.box_at(other).shape());
        auto in_lines = in_block;
        in_block[along_] = lines;
        in_lines[along_] = {0, lines.size()};
        in_lines[axis_] = end_.box_at(other)[axis_];
        if (!in_block.empty()) f(position, other, in_lines, in_block);
      }
    }
  }

  void bring(std::int64_t round, std::int64_t rounds) {
    for (auto& here : here_) {
      here.lines = LocalArray();  // before the next are taken
      here.lines = room_for(here.position, lines_of(here.position, round, rounds));
    }
    exchange(round, rounds, &Here::block, false);
  }

  void take_back(std::int64_t round, std::int64_t rounds) { exchange(round, rounds, &Here::result, true); }

  // Between whole lines and `blocks`: from those, or back to them.
  void exchange(std::int64_t round, std::int64_t rounds, LocalArray Here::*blocks, bool back) {
    PartExchange boxes;
    for_all_pieces(round, rounds, [&](std::int64_t position, std::int64_t other, const Index& in_lines, const Index& in_block) {
      const auto *whole = find(position), *apart = find(other);
      const auto lines = whole ? whole->lines.box(in_lines) : LocalArray(), block = apart ? (apart->*blocks).box(in_block) : LocalArray();
      if (back)
        boxes.add(devices_[position].rank, lines, devices_[other].rank, block);
      else
        boxes.add(devices_[other].rank, block, devices_[position].rank, lines);
    });
    boxes.run(ticket_);
  }

  const Array& x_;
  Dtype dtype_;
  std::int64_t axis_, along_;
  bool descending_, want_places_;
  const Ticket& ticket_;
  End end_;
  const DeviceList& devices_;
  AxisSplit split_;
  std::vector<Here> here_{};
};

}  // namespace

Array sort_lines(const Request& request, std::int64_t along, bool descending, bool want_places) {
  const auto negotiated = negotiate(request);
  if (rehearsing()) {
    const auto& x = *request.operands[0].array();
    const auto parts = split_of(x, request.attributes.axes[0]).parts;
    return rehearse_counted(request, negotiated, "lines to one device each, and back",
                            x.size() / parts * (parts - 1) * (x.itemsize() + static_cast<std::int64_t>(itemsize(request.dtype))),
                            [=](const Request& again) { return sort_lines(again, along, descending, want_places); });
  }
  describe(negotiated.ticket, negotiated.layout->words);
  Array result;
  run_local_part(request.operation, [&] { result = SortedLines(request, negotiated, along, descending, want_places).run(); });
  return result;
}

}  // namespace meshwise::detail
