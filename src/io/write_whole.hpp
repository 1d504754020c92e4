#pragma once
// Arrays into a draft, and the draft published: what write, write_tree and write_npy share.

#include <functional>
#include <string>
#include <vector>

#include "io/draft.hpp"
#include "meshwise/array/array.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace meshwise::detail {

/// Synchronising. Rank 0 begins the draft, which has an offset for each array, every rank writes its boxes of each array there with plain system calls, and
/// rank 0 publishes it. Throws, the same on every rank, what agreed() throws and what moving an array throws; then the draft is gone.
void write_whole(const std::string& call, const Ticket& ticket, const std::vector<Array>& arrays, const std::function<Draft()>& begin);

}  // namespace meshwise::detail
