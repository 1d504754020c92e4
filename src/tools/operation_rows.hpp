#pragma once
// The rows of the table of operations. A new operation is a row of its family.

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "meshwise/array/array.hpp"

namespace meshwise::detail {

/// Local. Arrays without values, of one dtype but for indices and truths, on a (2,2) mesh.
struct SampleArrays {
  Array x, y;       // [8@x,16@y]
  Array small;      // [16@y]: broadcasts against x
  Array vector;     // [16@x]
  Array matrix;     // [16@x,16@y]
  Array indices;    // int32[6]
  Array truths;     // bool[8@x,16@y]
};

/// Local. An operation on the samples; arrays it makes, the first is shown.
struct OperationRow {
  std::string_view name;
  std::function<Array(const SampleArrays&)> call;
  std::string_view shown = "x";  // which of the samples it is shown with
  std::string_view says{};       // of an operation that reads values and can't be asked: what it makes and moves
};

struct OperationFamily {
  std::string_view title;
  std::vector<OperationRow> rows;
};

/// Local. All families, in the order of the document.
std::vector<OperationFamily> operation_families();

}  // namespace meshwise::detail
