// meshwise checkpoint diff: what differs between two steps, whatever layouts they were saved in.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <type_traits>

#include "io/checkpoint/read_values.hpp"
#include "io/checkpoint/staging.hpp"
#include "meshwise/plan/propagation.hpp"
#include "plan/storage.hpp"
#include "tools/command/checkpoint.hpp"

namespace meshwise::command {
namespace {

struct Options {
  std::vector<std::string> words;
  bool json = false;
};

/// Values are equal as == has it, and a NaN equals a NaN. What is NaN on one side alone counts as differing, and in nothing else.
struct Difference {
  std::int64_t elements = 0, differ = 0, nan = 0;
  double most = 0;                 // of |a - b|
  std::uint64_t most_exactly = 0;  // of integers
  std::uint64_t ulp = 0;           // floating-point numbers from one to the other
};

template <class T>
struct Bits {
  using type = std::conditional_t<sizeof(T) == 2, std::int16_t, std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>;
};

// Numbers in their order, one apart from the next; both zeros are 0.
template <class T>
std::int64_t place_in_order(T value) {
  using Int = typename Bits<T>::type;
  const auto bits = std::bit_cast<Int>(value);
  constexpr auto magnitude = std::numeric_limits<Int>::max();
  return bits >= 0 ? std::int64_t{bits} : -std::int64_t{static_cast<Int>(bits & magnitude)};
}

template <class T>
double real_value(T value) {
  if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
    return static_cast<double>(static_cast<float>(value));
  else
    return static_cast<double>(value);
}

// Of two floating-point numbers: |a - b|, 0 where they are equal or one is no number.
template <class T>
double compare_floats(T a, T b, Difference& d, bool& differ, bool& nan) {
  const double x = real_value(a), y = real_value(b);
  if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
  differ = true;
  if (std::isnan(x) || std::isnan(y)) {
    nan = true;
    return 0;
  }
  const auto [low, high] = std::minmax({place_in_order(a), place_in_order(b)});
  d.ulp = std::max(d.ulp, static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low));
  return std::abs(x - y);
}

template <class T>
void compare_one(const T& a, const T& b, Difference& d) {
  bool differ = false, nan = false;
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    const auto real = compare_floats(a.real(), b.real(), d, differ, nan), imaginary = compare_floats(a.imag(), b.imag(), d, differ, nan);
    d.most = std::max(d.most, std::hypot(real, imaginary));
  } else if constexpr (std::is_integral_v<T>) {
    differ = a != b;
    const auto apart = a > b ? static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b)
                             : static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
    d.most_exactly = std::max(d.most_exactly, apart);
  } else {
    d.most = std::max(d.most, compare_floats(a, b, d, differ, nan));
  }
  d.differ += differ;
  d.nan += nan;
}

void compare_values(Dtype dtype, const std::byte* a, const std::byte* b, std::int64_t count, Difference& d) {
  const auto bytes = static_cast<std::size_t>(count) * itemsize(dtype);
  d.elements += count;
  if (std::memcmp(a, b, bytes) == 0) return;
  visit(dtype == bool_ ? uint8 : dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < count; ++i) {
      T x, y;
      std::memcpy(&x, a + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
      std::memcpy(&y, b + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
      compare_one(x, y, d);
    }
  });
}

// One side's values come as they lie in its files, a block at a time; the other side is asked for the same boxes.
Difference compare(detail::StepReader& a, const detail::StoredArray& in_a, detail::StepReader& b, const detail::StoredArray& in_b, Bar& bar,
                   std::int64_t& done, std::int64_t total) {
  Difference d;
  const auto memory = std::make_shared<detail::StagingBlock>(static_cast<std::size_t>(detail::block_bytes));
  a.as_stored(in_a, [&](const Index& stored, std::int64_t first, std::int64_t count, const std::byte* values) {
    for (auto box : detail::boxes_of_run(stored.shape(), first, count)) {
      for (std::int64_t axis = 0; axis < box.ndim(); ++axis)
        box[axis] = {box[axis].start + stored[axis].start, box[axis].stop + stored[axis].start};
      const auto other = detail::dense_in(memory, 0, box.shape(), in_a.dtype);
      b.read(in_b, box, other);
      compare_values(in_a.dtype, values, other.data(), other.size(), d);
      values += other.nbytes();
    }
    done += count * static_cast<std::int64_t>(itemsize(in_a.dtype));
    bar.show(done, total);
  });
  return d;
}

std::string most_text(Dtype dtype, const Difference& d) {
  return is_floating(dtype) || is_complex(dtype) ? fmt::format("{:.8g}", d.most) : std::to_string(d.most_exactly);
}

struct Result {
  std::vector<ordered_json> json{};
  Table table{"<<>>>>"};
  std::vector<std::string> lines{};
  std::int64_t same = 0, different = 0;
};

void compare_array(detail::StepReader& a, const detail::StoredArray& in_a, detail::StepReader& b, const detail::StoredArray& in_b,
                   Result& result, Bar& bar, std::int64_t& done, std::int64_t total) {
  const auto type = type_string(in_a.dtype, in_a.shape), other = type_string(in_b.dtype, in_b.shape);
  if (type != other) {
    ++result.different;
    result.lines.push_back(fmt::format("{}: {} and {}", in_a.name, type, other));
    result.json.push_back({{"name", in_a.name}, {"types", {type, other}}});
    return;
  }
  const auto d = compare(a, in_a, b, in_b, bar, done, total);
  ++(d.differ > 0 ? result.different : result.same);
  const bool has_ulp = is_floating(in_a.dtype) || is_complex(in_a.dtype);
  if (d.differ > 0)
    result.table.add({in_a.name, type, fmt::format("{} of {}", d.differ, d.elements), most_text(in_a.dtype, d),
                      has_ulp ? std::to_string(d.ulp) : "-", std::to_string(d.nan)});
  ordered_json j{{"name", in_a.name}, {"type", type}, {"elements", d.elements}, {"differ", d.differ}};
  j["max_abs"] = has_ulp ? json_number(d.most) : ordered_json(d.most_exactly);
  j["max_ulp"] = has_ulp ? ordered_json(d.ulp) : ordered_json(nullptr);
  j["nan_on_one_side"] = d.nan;
  result.json.push_back(std::move(j));
}

void run(const Options& o) {
  const bool one_run = o.words.size() == 3;
  detail::StepReader a(find_step(o.words[0], one_run ? o.words[1] : ""));
  detail::StepReader b(find_step(o.words[one_run ? 0 : 1], one_run ? o.words[2] : ""));
  Result result;
  result.table.add({"array", "type", "differ", "max |a-b|", "max ulp", "NaN on one side"});
  std::vector<std::string> only_a, only_b;
  std::map<std::string, const detail::StoredArray*> in_b;  // those that nothing of the first was compared with yet
  for (const auto& array : b.manifest().arrays) in_b.emplace(array.name, &array);
  std::int64_t done = 0, total = 0;
  for (const auto& array : a.manifest().arrays) total += array.nbytes();
  {
    Bar bar("diff");
    for (const auto& array : a.manifest().arrays) {
      const auto other = in_b.find(array.name);
      if (other == in_b.end()) {
        only_a.push_back(array.name);
        continue;
      }
      compare_array(a, array, b, *other->second, result, bar, done, total);
      in_b.erase(other);
    }
  }
  for (const auto& [name, array] : in_b) only_b.push_back(name);
  const bool same = result.different == 0 && only_a.empty() && only_b.empty();
  if (o.json) {
    print_json(
        {{"same", same}, {"a", a.folder()}, {"b", b.folder()}, {"arrays", result.json}, {"only_in_a", only_a}, {"only_in_b", only_b}});
  } else {
    const auto table = result.table.text();
    if (std::count(table.begin(), table.end(), '\n') > 1) fmt::print("{}", table);
    for (const auto& line : result.lines) fmt::print("{}\n", line);
    for (const auto& name : only_a) fmt::print("{}: in the first alone\n", name);
    for (const auto& name : only_b) fmt::print("{}: in the second alone\n", name);
    fmt::print("{} the same\n", counted(result.same, "array"));
  }
  if (!same) throw CLI::RuntimeError(1);
}

}  // namespace

void add_checkpoint_diff(CLI::App& app) {
  auto* const diff = app.add_subcommand("diff", "Compare the values of two steps, array by array; exit code 1 if they differ");
  const auto o = std::make_shared<Options>();
  diff->add_option("WHAT", o->words, "RUN STEP STEP, or two folders, of runs (their newest steps) or steps")->required()->expected(2, 3);
  diff->add_flag("--json", o->json, "The same as JSON");
  diff->footer("A NaN equals a NaN, and 0 equals -0. An ulp is one floating-point number to the next.");
  diff->callback([o] { run(*o); });
}

}  // namespace meshwise::command
