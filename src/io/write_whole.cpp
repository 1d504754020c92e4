#include "io/write_whole.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "io/agreement.hpp"
#include "io/hdf5_handle.hpp"
#include "io/placed.hpp"
#include "meshwise/runtime/environment.hpp"

namespace meshwise::detail {

namespace {

std::string pack(const Draft& draft) {  // the others need its file and the places in it
  PackedText text;
  text.add(draft.path);
  for (const auto offset : draft.offsets) text.add(offset);
  return text.text();
}

void write_pieces(const Array& x, const std::string& path, std::int64_t offset, std::optional<BoxWriter>& writer) {
  bool is_first = true;
  for_each_piece(x, [&](const Index& box, const LocalArray& values) {
    if (std::exchange(is_first, false)) writer.emplace(path, offset, x.shape(), x.dtype());
    writer->write(box, values.data());
  });
}

}  // namespace

void write_whole(const std::string& call, const Ticket& ticket, const std::vector<Array>& arrays, const std::function<Draft()>& begin) {
  Draft draft;
  const auto place = agreed(call, ticket, [&]() -> std::string {
    if (process_index() != 0) return {};
    const QuietErrors quiet;
    draft = begin();
    return pack(draft);
  })[0];
  try {
    UnpackedText text(place);
    const auto path = text.words();
    std::optional<BoxWriter> writer;
    std::exception_ptr failed;
    for (const auto& x : arrays) {
      const auto offset = text.number();
      const auto rows = in_long_runs(x);  // a rank that failed takes part in it
      try {
        if (!failed) write_pieces(rows, path, offset, writer);
      } catch (...) {
        failed = std::current_exception();
      }
    }
    agreed(call, ticket, [&] {
      if (failed) std::rethrow_exception(failed);
      if (writer) writer->sync();  // of the file, for all arrays
      return std::string();
    });
    agreed(call, ticket, [&] {
      const QuietErrors quiet;
      if (process_index() == 0) publish(draft);
      return std::string();
    });
  } catch (...) {
    const QuietErrors quiet;
    if (process_index() == 0) discard(draft);
    throw;
  }
}

}  // namespace meshwise::detail
