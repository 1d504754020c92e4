// meshwise checkpoint stats: what kind of numbers the arrays hold.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <type_traits>

#include "array/number_text.hpp"
#include "io/checkpoint/read_values.hpp"
#include "tools/command/checkpoint.hpp"

namespace meshwise::command {
namespace {

struct Options {
  std::string run, step;
  std::vector<std::string> arrays;
  bool json = false;
};

/// Of a complex array the extremes are those of the absolute values.
struct Stats {
  std::int64_t count = 0, nans = 0, infs = 0, zeros = 0, finite = 0;
  std::string least{}, largest{};  // of what is no NaN; empty where there is nothing
  ordered_json json_least, json_largest;
  long double sum = 0, sum_imaginary = 0;  // of what is finite
};

template <class T>
struct is_complex_type : std::false_type {};
template <class T>
struct is_complex_type<std::complex<T>> : std::true_type {};

template <class T>
auto ordinary(T value) {
  if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
    return static_cast<float>(value);
  else if constexpr (is_complex_type<T>::value)
    return std::abs(std::complex<double>(value));
  else
    return value;
}

template <class T>
class Collector {
 public:
  using Ordinary = decltype(ordinary(T()));

  void take(const std::byte* bytes, std::int64_t count) {
    constexpr std::int64_t step = 4096;
    for (std::int64_t first = 0; first < count; first += step) {
      double sum = 0, imaginary = 0;  // short sums: what a float loses in long ones would show
      for (auto i = first; i < std::min(count, first + step); ++i) {
        T value;
        std::memcpy(&value, bytes + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
        add(value, sum, imaginary);
      }
      stats_.sum += static_cast<long double>(sum);
      stats_.sum_imaginary += static_cast<long double>(imaginary);
    }
    stats_.count += count;
  }

  Stats finish() {
    if (!any_) return stats_;
    const auto put = [](const T& original, const Ordinary& value, std::string& text, ordered_json& json) {
      if constexpr (is_complex_type<T>::value)
        text = fmt::format("{:.8g}", value);
      else
        text = detail::scalar_text(dtype_of<T>(), reinterpret_cast<const std::byte*>(&original));
      if constexpr (std::is_integral_v<Ordinary>)
        json = value;
      else
        json = json_number(static_cast<double>(value));
    };
    put(least_original_, least_, stats_.least, stats_.json_least);
    put(largest_original_, largest_, stats_.largest, stats_.json_largest);
    return stats_;
  }

 private:
  void add(const T& original, double& sum, double& imaginary) {
    const auto value = ordinary(original);
    if constexpr (!std::is_integral_v<Ordinary>) {
      if (std::isnan(value)) {
        ++stats_.nans;
        return;
      }
    }
    if (!any_ || value < least_) least_ = value, least_original_ = original;
    if (!any_ || value > largest_) largest_ = value, largest_original_ = original;
    any_ = true;
    stats_.zeros += value == Ordinary();
    if constexpr (is_complex_type<T>::value) {
      const bool infinite = std::isinf(original.real()) || std::isinf(original.imag());
      stats_.infs += infinite;
      if (infinite) return;
      sum += static_cast<double>(original.real());
      imaginary += static_cast<double>(original.imag());
    } else {
      if constexpr (!std::is_integral_v<Ordinary>) {
        if (std::isinf(value)) {
          ++stats_.infs;
          return;
        }
      }
      sum += static_cast<double>(value);
    }
    ++stats_.finite;
  }

  Stats stats_{};
  Ordinary least_{}, largest_{};
  T least_original_{}, largest_original_{};
  bool any_ = false;
};

Stats stats_of(detail::StepReader& step, const detail::StoredArray& array, Bar& bar, std::int64_t& done, std::int64_t total) {
  return visit(array.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Collector<T> collector;
    step.as_stored(array, [&](const Index&, std::int64_t, std::int64_t count, const std::byte* values) {
      collector.take(values, count);
      done += count * static_cast<std::int64_t>(sizeof(T));
      bar.show(done, total);
    });
    return collector.finish();
  });
}

double mean_of(long double sum, std::int64_t count) { return static_cast<double>(sum / static_cast<long double>(count)); }

std::string mean_text(const Stats& s, Dtype dtype) {
  if (s.finite == 0) return "-";
  if (!is_complex(dtype)) return fmt::format("{:.8g}", mean_of(s.sum, s.finite));
  return fmt::format("({:.8g}{:+.8g}j)", mean_of(s.sum, s.finite), mean_of(s.sum_imaginary, s.finite));
}

ordered_json to_json(const detail::Manifest& m, const detail::StoredArray& array, const Stats& s) {
  ordered_json mean;
  if (s.finite > 0) {
    mean = json_number(mean_of(s.sum, s.finite));
    if (is_complex(array.dtype)) mean = {mean, json_number(mean_of(s.sum_imaginary, s.finite))};
  }
  return {{"name", array.name},    {"type", detail::type_text(m, array)},
          {"count", s.count},      {"min", s.json_least},
          {"max", s.json_largest}, {"mean", std::move(mean)},
          {"nan", s.nans},         {"inf", s.infs},
          {"zeros", s.zeros}};
}

void run(const Options& o) {
  detail::StepReader step(find_step(o.run, o.step));
  const auto& m = step.manifest();
  std::vector<const detail::StoredArray*> arrays;
  for (const auto& name : o.arrays) arrays.push_back(&m.array(name));
  if (o.arrays.empty())
    for (const auto& array : m.arrays) arrays.push_back(&array);
  std::int64_t done = 0, total = 0;
  for (const auto* array : arrays) total += array->nbytes();
  Table table("<<>>>>>>");
  table.add({"array", "type", "min", "max", "mean", "NaN", "Inf", "zeros"});
  auto json = ordered_json::array();
  {
    Bar bar("stats");
    for (const auto* array : arrays) {
      const auto s = stats_of(step, *array, bar, done, total);
      if (o.json)
        json.push_back(to_json(m, *array, s));
      else
        table.add({array->name, detail::type_text(m, *array), s.least.empty() ? "-" : s.least, s.largest.empty() ? "-" : s.largest,
                   mean_text(s, array->dtype), std::to_string(s.nans), std::to_string(s.infs), std::to_string(s.zeros)});
    }
  }
  if (o.json)
    print_json({{"step", m.step}, {"arrays", std::move(json)}});
  else
    fmt::print("{}", table.text());
}

}  // namespace

void add_checkpoint_stats(CLI::App& app) {
  auto* const stats = app.add_subcommand("stats", "Least, largest and mean value of each array, and how many are NaN, infinite or zero");
  const auto o = std::make_shared<Options>();
  stats->add_option("RUN", o->run, "The run's folder, or a step's")->required();
  stats->add_option("STEP", o->step, "The step (the newest that is whole where nothing is said)");
  stats->add_option("--array", o->arrays, "This array alone; may be given several times");
  stats->add_flag("--json", o->json, "The same as JSON");
  stats->footer(
      "Least and largest leave NaNs out, the mean infinite values too. Of a complex array they are those of the absolute values.");
  stats->callback([o] { run(*o); });
}

}  // namespace meshwise::command
