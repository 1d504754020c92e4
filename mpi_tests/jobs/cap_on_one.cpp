// Rank 1 alone reaches the cap, outside of agree. It throws OutOfMemoryError, which says what it asked for, what it holds and how much; the others
// CollectiveError with its words; then every call of all does, even when there is room again. Values are still what they were.
// ranks: 2 4
// variant: private ranks=2,4 MESHWISE_STORE=private
// hosts: 2x2
// env: MESHWISE_MEMORY_LIMIT=40000000
// within: 5
// prints: all ranks caught it
#include <cstdio>
#include <string>

#include "support/row_major_numbers.hpp"
#include "support/thrown_words.hpp"

namespace mw = meshwise;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const bool full = mw::process_index() == 1;
  const mw::NamedSharding rows(support::line(mw::process_count()), mw::P("x"));
  const auto x = mw::device_put(support::numbered({mw::process_count() * 1000, 1000}, mw::float64), rows);
  mw::block_until_ready(x);
  mw::barrier();
  const auto spread = [&] {
    const auto y = mw::reshard(x, mw::P(mw::none, "x"));
    mw::block_until_ready(y);
    mw::barrier();
  };
  bool right = true;
  const auto look_at = [&](const std::string& words, std::initializer_list<const char*> parts) {
    for (const auto* part : parts) {
      if (words.find(part) != std::string::npos) continue;
      std::fprintf(stderr, "rank %d: no '%s' in: %s\n", static_cast<int>(mw::process_index()), part, words.c_str());
      right = false;
    }
  };
  const auto* const own = "rank 1: no memory for a block of 8000000 bytes: MESHWISE_MEMORY_LIMIT is 40000000 bytes a rank; "
                          "38000000 bytes of blocks are live on this rank; the largest: 30000000 bytes";
  {
    const mw::LocalArray ballast({full ? 30'000'000 : 1}, mw::uint8);
    if (full) look_at(support::words<mw::OutOfMemoryError>(spread), {own});
    else look_at(support::words<mw::CollectiveError>(spread), {"rank 1 failed in reshard: ", own});
  }
  for (int k = 0; k < 2; ++k) look_at(support::words<mw::CollectiveError>(spread), {"rank 1 failed in reshard: ", own});
  if (support::wrong_numbers<double>(x) != 0) right = false;
  if (right && mw::process_index() == 0) std::puts("all ranks caught it");
  return right ? 0 : 1;
}
