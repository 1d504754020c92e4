#include "spmd/tile_program.hpp"

#include <algorithm>
#include <utility>

#include "base/boxes.hpp"
#include "ops/tiles.hpp"
#include "runtime/kernels/copy.hpp"

namespace meshwise::detail {

namespace {

using Members = std::vector<Member>;
using Kind = Member::Source::Kind;

/// Runs members on tiles. A member that writes to given memory has the same for every tile; memory that no later member reads is taken again.
class TileRun {
 public:
  TileRun(const Members& members, std::span<const LocalArray> inputs, const Shape& shape) : members_(members), inputs_(inputs), shape_(shape) {
    std::vector<std::size_t> last(members.size(), members.size());
    for (std::size_t k = 0; k < members.size(); ++k)
      for (const auto& source : members[k].sources)
        if (source.kind == Kind::member) last[source.number] = k;
    std::vector<std::size_t> free;
    for (std::size_t k = 0; k < members.size(); ++k) {
      slots_.push_back(memory_.size());
      const auto found = std::find_if(free.begin(), free.end(), [&](std::size_t slot) { return dtypes_[slot] == members[k].dtype; });
      if (found != free.end()) {
        slots_.back() = *found;
        free.erase(found);
      } else {
        memory_.emplace_back();
        dtypes_.push_back(members[k].dtype);
      }
      for (std::size_t m = 0; m < k; ++m)
        if (last[m] == k) free.push_back(slots_[m]);
    }
    values_.resize(members.size());
    outside_.resize(inputs.size());
  }

  /// The operands of member k for the tile, all before it being done.
  std::span<const LocalArray> operands_of(std::size_t k) {
    operands_.clear();
    for (const auto& source : members_[k].sources)
      operands_.push_back(source.kind == Kind::outside ? outside_[source.number] : source.kind == Kind::member ? values_[source.number] : source.literal);
    return operands_;
  }

  /// The members but `ends` of them.
  void run(const Index& box, std::size_t ends) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) outside_[i] = beside(inputs_[i], box, shape_);
    const auto tile = box.shape();
    for (std::size_t k = 0; k + ends < members_.size(); ++k) {
      const auto& member = members_[k];
      if (!member.into) {
        const Index whole = Index::whole(tile);
        values_[k] = member.kernel(operands_of(k), {whole, none_});
        continue;
      }
      auto& memory = memory_[slots_[k]];
      if (memory.block() == nullptr || memory.shape() != tile) memory = LocalArray(tile, member.dtype);
      member.into(operands_of(k), memory);
      values_[k] = memory;
    }
  }

  const LocalArray& result() const { return values_.back(); }

 private:
  const Members& members_;
  std::span<const LocalArray> inputs_;
  const Shape& shape_;
  std::vector<std::size_t> slots_{};  // of each member
  std::vector<LocalArray> memory_{};
  std::vector<Dtype> dtypes_{};
  std::vector<LocalArray> values_{}, outside_{}, operands_{};
  const std::vector<Index> none_{4};
};

}  // namespace

Kernel map_kernel(std::shared_ptr<const Members> members) {
  return [members = std::move(members)](std::span<const LocalArray> inputs, const KernelContext& context) {
    const auto shape = context.result_box.shape();
    LocalArray out(shape, members->back().dtype);
    TileRun tiles(*members, inputs, shape);
    const auto& kernels = copy_kernels();
    const bool streams = out.nbytes() >= streams_from();
    for_each_tile(shape, [&](const Index& box) {
      tiles.run(box, 0);
      const auto to = out.box(box);
      if (streams && to.is_contiguous() && tiles.result().is_contiguous())
        kernels.tile_streamed(tiles.result().data(), to.data(), to.nbytes());
      else
        copy_values(tiles.result(), to);
    });
    if (streams) kernels.fence();
    return out;
  };
}

Kernel fold_kernel(std::shared_ptr<const Members> members, const Request& last) {
  return [members = std::move(members), axes = last.attributes.axes, keepdims = last.attributes.keepdims,
          combine = last.reduction->combine](std::span<const LocalArray> inputs, const KernelContext& context) {
    const auto& own = context.operand_boxes[0];
    const auto shape = own.shape();
    TileRun tiles(*members, inputs, shape);
    const auto end = members->size() - 1;
    LocalArray totals;
    const auto take = [&](const Index& box) {
      Index to;
      bool first = true;
      for (std::int64_t d = 0; d < shape.ndim(); ++d) {
        const bool goes = std::find(axes.begin(), axes.end(), d) != axes.end();
        first = first && (!goes || box[d].start == 0);
        if (!goes || keepdims) to.push_back(goes ? Range{0, 1} : box[d]);
      }
      tiles.run(box, 1);
      const Index part = Index::whole(to.shape()), global = moved_to(box, own);
      const auto more = (*members)[end].kernel(tiles.operands_of(end), {part, {&global, 1}});
      if (totals.block() == nullptr) totals = LocalArray(context.result_box.shape(), more.dtype());
      const auto here = totals.box(to);
      if (first) return copy_values(more, here);
      auto sums = here.contiguous();
      combine(sums.data(), more.data(), more.size());
      if (sums.data() != here.data()) copy_values(sums, here);
    };
    if (shape.num_elements() > 0)
      for_each_tile(shape, take);
    else
      take(Index::whole(shape));  // of nothing
    return totals;
  };
}

}  // namespace meshwise::detail
