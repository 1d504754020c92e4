#include "spmd/fusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "array/negotiate.hpp"
#include "array/panels.hpp"
#include "meshwise/base/hash.hpp"
#include "spmd/tile_program.hpp"

namespace meshwise::detail {

namespace {

using Members = std::vector<Member>;

std::optional<Sharding> placement_of(const Array& x) { return x.committed() ? std::optional(x.sharding()) : std::nullopt; }

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
    return calls_[leader].operands.size() == 1 && call.shape == x.shape() && lie_alike(call.sharding, placement_of(x), x.ndim());
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
    std::string names;
    for (const auto k : group) {
      Member member{calls_[k].request->kernel, calls_[k].request->into, calls_[k].dtype, {}};
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
    request->salt = 0;
    for (const auto k : group)
      request->salt = mix(mix(request->salt, hash_text(calls_[k].request->operation)), mix(calls_[k].request->salt, static_cast<std::uint64_t>(calls_[k].dtype)));
    if (!folds) {
      request->rule = outside.size() == 1 ? LayoutRule::unary : LayoutRule::elementwise;
      request->attributes = {};
    }
    if (end.sharding) request->attributes.out_spec = end.sharding->spec();
    request->kernel = folds ? fold_kernel(members, *end.request) : map_kernel(members);
    request->as_recipe = {};
    request->into = {};
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
    const auto placed = placement_of(*end.operands[0].array());
    const auto whole = std::find_if(outside.begin(), outside.end(), [&](const Operand& operand) {
      const auto& x = *operand.array();
      return x.shape() == shape && lie_alike(placement_of(x), placed, x.ndim());
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
