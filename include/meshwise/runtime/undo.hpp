#pragma once
// What a failed agreement gives back: f of agree(f) may have given arrays away before one rank failed.

#include <functional>

namespace meshwise::detail {

/// Local. Whether this rank is inside agree(f); all ranks are, or none.
bool in_agreement();
/// Local. Inside agree(f): `undo`, which must not throw, is called when this agreement or one around it fails, the last one first. It is dropped when
/// the outermost has succeeded.
void undo_on_failure(std::function<void()> undo);

}  // namespace meshwise::detail
