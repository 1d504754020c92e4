#include "spmd/fusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "array/negotiate.hpp"
#include "array/panels.hpp"
#include "base/boxes.hpp"
#include "ops/tiles.hpp"

namespace meshwise::detail {

namespace {

/// One call of a group, as its kernel is given tiles.
struct Member {
  Kernel kernel{};
  struct Source {
    enum class Kind : std::uint8_t { outside, member, literal } kind = Kind::outside;
    std::size_t number = 0;
    LocalArray literal{};
  };
  std::vector<Source> sources{};
};

using Members = std::vector<Member>;

/// The operands of a member, for a tile.
std::vector<LocalArray> operands_of(const Member& member, std::span<const LocalArray> outside, std::span<const LocalArray> values) {
  std::vector<LocalArray> out;
  out.reserve(member.sources.size());
  for (const auto& source : member.sources)
    out.push_back(source.kind == Member::Source::Kind::outside  ? outside[source.number]
                  : source.kind == Member::Source::Kind::member ? values[source.number]
                                                                : source.literal);
  return out;
}

/// The values of the last member but `ends` of them, for a tile at `box` of blocks of `shape`; its operands.
std::vector<LocalArray> values_at(const Members& members, std::size_t ends, std::span<const LocalArray> inputs, const Index& box, const Shape& shape) {
  std::vector<LocalArray> outside, values;
  for (const auto& x : inputs) outside.push_back(beside(x, box, shape));
  const Index whole = Index::whole(box.shape());
  const std::vector<Index> none(4);
  for (std::size_t k = 0; k + ends < members.size(); ++k) values.push_back(members[k].kernel(operands_of(members[k], outside, values), {whole, none}));
  if (ends == 0) return values;
  return operands_of(members.back(), outside, values);
}

Kernel map_kernel(std::shared_ptr<const Members> members, Dtype dtype) {
  return [members = std::move(members), dtype](std::span<const LocalArray> inputs, const KernelContext& context) {
    const auto shape = context.result_box.shape();
    LocalArray out(shape, dtype);
    for_each_tile(shape, [&](const Index& box) { copy_values(values_at(*members, 0, inputs, box, shape).back(), out.box(box)); });
    return out;
  };
}

/// The partials of the first operand's shape, tile by tile.
Kernel fold_kernel(std::shared_ptr<const Members> members, const Request& last) {
  return [members = std::move(members), axes = last.attributes.axes, keepdims = last.attributes.keepdims, combine = last.reduction->combine,
          partials = last.reduction->partials](std::span<const LocalArray> inputs, const KernelContext& context) {
    const auto& own = context.operand_boxes[0];
    const auto shape = own.shape();
    if (shape.num_elements() == 0) {  // of nothing
      const LocalArray empty(shape, Dtype::bool_);
      std::vector<LocalArray> operands = values_at(*members, 1, inputs, Index::whole(shape), shape);
      return members->back().kernel(operands, context);
    }
    LocalArray totals;
    for_each_tile(shape, [&](const Index& box) {
      Index to;
      bool first = true;
      for (std::int64_t d = 0; d < shape.ndim(); ++d) {
        const bool goes = std::find(axes.begin(), axes.end(), d) != axes.end();
        first = first && (!goes || box[d].start == 0);
        if (!goes || keepdims) to.push_back(goes ? Range{0, 1} : box[d]);
      }
      const Index global = moved_to(box, own);
      const auto more = members->back().kernel(values_at(*members, 1, inputs, box, shape), {Index::whole(to.shape()), {&global, 1}});
      if (!totals.block()) totals = LocalArray(context.result_box.shape(), more.dtype());
      const auto here = totals.box(to);
      if (first) return copy_values(more, here);
      auto sums = here.contiguous();
      combine(sums.data(), more.data(), more.size());
      if (sums.data() != here.data()) copy_values(sums, here);
    });
    return totals;
  };
}

class Fusion {
 public:
  Fusion(Trace& trace, std::vector<bool>& live, const std::vector<bool>& kept) : trace_(trace), calls_(trace.calls()), live_(live), kept_(kept) {
    arguments_ = kept.size() - calls_.size();
    leader_.resize(calls_.size());
    readers_.resize(calls_.size());
  }

  void run() {
    for (std::size_t k = 0; k < calls_.size(); ++k) {
      leader_[k] = k;
      if (live_[k])
        for (const auto source : sources_of(k)) readers_[source].push_back(k);
    }
    // From the last call to the first: whoever reads a value has its group by then.
    for (auto k = calls_.size(); k-- > 0;) {
      if (!live_[k] || tiling(k) == Tiling::none) continue;
      if (joins(k)) leader_[k] = leader_[readers_[k][0]];
    }
    for (std::size_t k = 0; k < calls_.size(); ++k)
      if (live_[k] && leader_[k] == k && tiling(k) != Tiling::none) put_together(k);
  }

 private:
  Tiling tiling(std::size_t k) const { return calls_[k].request ? calls_[k].request->tiling : Tiling::none; }

  /// The calls whose values a call reads.
  std::vector<std::size_t> sources_of(std::size_t k) const {
    std::vector<std::size_t> out;
    for (const auto& operand : calls_[k].operands)
      if (operand.array() != nullptr)
        if (const auto number = trace_.number_of(*operand.array()); number >= static_cast<std::int64_t>(arguments_))
          out.push_back(static_cast<std::size_t>(number) - arguments_);
    return out;
  }

  bool lie_alike(const std::optional<Sharding>& a, const std::optional<Sharding>& b, std::int64_t ndim) const {
    if (a.has_value() != b.has_value()) return false;
    return !a || *a == *b || a->is_equivalent_to(*b, ndim);
  }

  bool joins(std::size_t k) const {
    const auto& call = calls_[k];
    if (call.request->tiling != Tiling::map || kept_[arguments_ + k] || readers_[k].empty()) return false;
    const auto leader = leader_[readers_[k][0]];
    if (leader == k || tiling(leader) == Tiling::none) return false;
    for (const auto reader : readers_[k])
      if (leader_[reader] != leader) return false;
    if (tiling(leader) == Tiling::map) return call.shape == calls_[leader].shape && lie_alike(call.sharding, calls_[leader].sharding, call.shape.ndim());
    // What a reduction reads: one operand.
    const auto& x = *calls_[leader].operands[0].array();
    const auto placed = x.committed() ? std::optional(x.sharding()) : std::nullopt;
    return calls_[leader].operands.size() == 1 && call.shape == x.shape() && lie_alike(call.sharding, placed, x.ndim());
  }

  void put_together(std::size_t last) {
    std::vector<std::size_t> group;
    for (std::size_t k = 0; k <= last; ++k)
      if (live_[k] && leader_[k] == last) group.push_back(k);
    if (group.size() < 2) return;
    const auto& end = calls_[last];
    const bool folds = tiling(last) == Tiling::fold;
    const auto shape = folds ? end.operands[0].array()->shape() : end.shape;
    auto members = std::make_shared<Members>();
    std::map<std::size_t, std::size_t> place;  // of a call among the members
    std::vector<Operand> outside;
    RehearsedCall words;
    std::string names;
    for (const auto k : group) {
      Member member{calls_[k].request->kernel, {}};
      for (const auto& operand : calls_[k].operands) {
        using Kind = Member::Source::Kind;
        if (operand.array() == nullptr) {
          member.sources.push_back({Kind::literal, 0, literal_block(*calls_[k].request, operand)});
          continue;
        }
        const auto number = trace_.number_of(*operand.array());
        const auto source = number >= static_cast<std::int64_t>(arguments_) ? place.find(static_cast<std::size_t>(number) - arguments_) : place.end();
        if (source != place.end()) {
          member.sources.push_back({Kind::member, source->second, {}});
          continue;
        }
        const auto found = std::find_if(outside.begin(), outside.end(), [&](const Operand& other) { return other.array()->state() == operand.array()->state(); });
        member.sources.push_back({Kind::outside, static_cast<std::size_t>(found - outside.begin()), {}});
        if (found == outside.end()) outside.push_back(operand);
      }
      place[k] = members->size();
      members->push_back(std::move(member));
      names += (names.empty() ? "" : ", ") + std::string(calls_[k].request->operation);
    }
    if (!fits(end, outside, shape, folds, *members)) return;
    auto request = std::make_shared<Request>(*end.request);
    request->operands = outside;
    request->literal_dtype = end.dtype;
    request->salt = group.size();
    if (!folds) {
      request->rule = outside.size() == 1 ? LayoutRule::unary : LayoutRule::elementwise;
      request->attributes = {};
    }
    if (end.sharding) request->attributes.out_spec = end.sharding->spec();
    request->kernel = folds ? fold_kernel(members, *end.request) : map_kernel(members, end.dtype);
    request->as_recipe = {};
    const auto negotiated = negotiate(*request);
    const auto placed = negotiated.layout == nullptr ? std::nullopt : std::optional(negotiated.layout->result);
    if (placed.has_value() != end.sharding.has_value() || (placed && !(*placed == *end.sharding))) return;
    request->operands = {};
    auto& fused = calls_[last];
    fused.operands = std::move(outside);
    fused.request = request;
    fused.replay = replay_of(std::move(request), dispatch);
    fused.words.head += fmt::format(" (one pass: {})", names);
    for (const auto k : group) live_[k] = k == last;
  }

  /// A group reads something of its whole shape, first: that says how its tiles lie; a reduction's beside it have as many axes.
  bool fits(const HeardCall& end, std::vector<Operand>& outside, const Shape& shape, bool folds, Members& members) const {
    if (outside.empty()) return false;
    if (!folds) return true;
    const auto placed = end.operands[0].array()->committed() ? std::optional(end.operands[0].array()->sharding()) : std::nullopt;
    const auto whole = std::find_if(outside.begin(), outside.end(), [&](const Operand& operand) {
      const auto& x = *operand.array();
      return x.shape() == shape && lie_alike(x.committed() ? std::optional(x.sharding()) : std::nullopt, placed, x.ndim());
    });
    if (whole == outside.end() || !std::all_of(outside.begin(), outside.end(), [&](const Operand& operand) { return operand.array()->ndim() == shape.ndim(); })) return false;
    const auto number = static_cast<std::size_t>(whole - outside.begin());
    std::swap(outside[0], outside[number]);
    for (auto& member : members)
      for (auto& source : member.sources)
        if (source.kind == Member::Source::Kind::outside)
          source.number = source.number == 0 ? number : source.number == number ? 0 : source.number;
    return true;
  }

  Trace& trace_;
  std::vector<HeardCall>& calls_;
  std::vector<bool>& live_;
  const std::vector<bool>& kept_;
  std::size_t arguments_ = 0;
  std::vector<std::size_t> leader_{};
  std::vector<std::vector<std::size_t>> readers_{};
};

}  // namespace

void fuse(Trace& trace, std::vector<bool>& live, const std::vector<bool>& kept) { Fusion(trace, live, kept).run(); }

}  // namespace meshwise::detail
