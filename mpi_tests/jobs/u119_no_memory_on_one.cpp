// U-119: rank 1 alone has no memory in the middle of an operation on arrays. It throws OutOfMemoryError, the others CollectiveError with its words,
// where they wait for it or at a later call, and so does every later call of all.
// ranks: 2 4
// variant: next ranks=4 MESHWISE_FAIL_ALLOCATION=1:21
// variant: literal ranks=4 OPERATION=literal
// variant: literal_next ranks=4 OPERATION=literal MESHWISE_FAIL_ALLOCATION=1:21
// variant: mixed ranks=4 OPERATION=mixed
// variant: mixed_next ranks=4 OPERATION=mixed MESHWISE_FAIL_ALLOCATION=1:21
// variant: reshard ranks=2,4 OPERATION=reshard
// variant: sum ranks=4 OPERATION=sum
// variant: sum_next ranks=4 OPERATION=sum MESHWISE_FAIL_ALLOCATION=1:21
// variant: device_get ranks=4 OPERATION=device_get
// variant: device_get_next ranks=4 OPERATION=device_get MESHWISE_FAIL_ALLOCATION=1:21
// variant: matmul ranks=4 OPERATION=matmul
// variant: take ranks=4 OPERATION=take
// variant: normal ranks=4 OPERATION=normal
// env: MESHWISE_FAIL_ALLOCATION=1:20
// within: 5
// prints: all ranks caught it
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "support/row_major_numbers.hpp"

namespace mw = meshwise;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto me = mw::process_index();
  const mw::NamedSharding rows(support::line(mw::process_count()), mw::P("x"));
  auto x = mw::device_put(support::numbered({64, 48}, mw::float32), rows);
  const auto columns = mw::reshard(x, mw::P(mw::none, "x"));
  const auto indices = mw::device_put(mw::arange(8), mw::NamedSharding(rows.mesh(), mw::P()));
  const auto key = mw::device_put(mw::random::key(1), mw::NamedSharding(rows.mesh(), mw::P()));
  bool turn = false;
  const std::map<std::string, std::pair<std::string, std::function<void()>>> operations = {
      {"add", {"add", [&] { x = x + x; }}},
      {"literal", {"add", [&] { x = x + 1.0F; }}},
      {"mixed", {"add", [&] { x = x + columns; }}},
      {"reshard", {"reshard", [&] { x = mw::reshard(x, (turn = !turn) ? mw::P(mw::none, "x") : mw::P("x")); }}},
      {"sum", {"sum", [&] { mw::sum(x); }}},
      {"device_get", {"device_get", [&] { mw::device_get(x); }}},
      {"matmul", {"matmul", [&] { mw::matmul(x, columns.T()); }}},
      {"take", {"take", [&] { mw::take(x, indices); }}},
      {"normal", {"random.normal", [&] { mw::random::normal(key, {64, 48}); }}}};
  const char* const chosen = std::getenv("OPERATION");
  const auto& [operation, run] = operations.at(chosen != nullptr ? chosen : "add");

  bool own = false;
  std::string words;
  const auto right = [&] {
    return words.find("rank 1 failed in " + operation + ": ") == 0 && words.find("MESHWISE_FAIL_ALLOCATION asks for this failure") != std::string::npos;
  };
  try {
    for (int k = 0; k < 100; ++k) {
      run();
      mw::barrier();  // what takes no exchange is learnt of at the next that does
    }
  } catch (const mw::OutOfMemoryError&) {
    own = true;
  } catch (const mw::CollectiveError& error) {
    words = error.what();
  }
  bool fine = own == (me == 1) && (own || right());
  for (int k = 0; k < 2 && fine; ++k) {
    words.clear();
    try {
      run();
    } catch (const mw::CollectiveError& error) {
      words = error.what();
    }
    fine = right();
  }
  if (!fine) {
    std::fprintf(stderr, "rank %d: own %d: %s\n", static_cast<int>(me), own, words.c_str());
    return 1;
  }
  if (me == 0) std::puts("all ranks caught it");
}
