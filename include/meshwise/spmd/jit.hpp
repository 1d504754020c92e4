#pragma once
// A function recorded once and run many times: one mesh, the layouts inside decided before it runs.

#include <any>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "meshwise/array/tree.hpp"
#include "meshwise/spmd/arrays_in.hpp"

namespace meshwise {

struct JitOptions {
  std::string name = "f";                        // what messages call the function
  std::vector<std::int64_t> donate_argnums{};    // arguments whose memory results may take; later use of them is DonatedError
  std::vector<Target> in_shardings{};            // of each argument, for all its arrays: where uncommitted ones go, and committed ones lie; empty: as they are
  std::optional<Target> out_sharding{};          // where all results are placed
};

namespace detail {

class Program;

/// Local. Programs that one jitted function has recorded, and how they run; apart from the C++ types of arguments and results.
class Programs {
 public:
  explicit Programs(JitOptions options) : options_(std::move(options)) {}

  struct Call {
    std::string structure{};
    std::vector<Array> arguments{};
    std::vector<std::size_t> ends{};  // how many arrays the first, the first two, ... arguments hold
    std::vector<std::any> statics{};
  };
  using Function = std::function<std::vector<Array>(const std::vector<Array>& arguments)>;
  using Same = std::function<bool(const std::vector<std::any>& others)>;

  /// Local. The program for such a call; recorded by running f where there is none yet. `prototype` is where f's result stands that has its structure.
  struct Found {
    std::shared_ptr<const Program> program{};
    std::shared_ptr<const std::any> prototype{};
  };
  Found find(const Call& call, const Same& same, const Function& f, const std::function<std::any()>& prototype);
  /// Collective. Runs it; donated arguments are gone then.
  std::vector<Array> run(const Program& program, Call call) const;
  static std::string text(const Program& program);
  std::int64_t count() const { return static_cast<std::int64_t>(entries_.size()); }

 private:
  struct Entry {
    std::string structure{};
    std::vector<Array> arguments{};  // types and placements, no values
    std::vector<std::any> statics{};
    Found found{};
  };
  JitOptions options_;
  std::vector<Entry> entries_{};
};

/// Local. A function is being recorded by jit.
bool tracing();

}  // namespace detail

/// What jit(f) is: called like f, with arrays, and vectors, tuples, pairs, string-keyed maps and trees of arrays; arguments without arrays are static.
template <class F>
class Jitted {
 public:
  Jitted(F f, JitOptions options) : f_(std::move(f)), programs_(std::make_shared<detail::Programs>(std::move(options))) {}

  /// Collective. f's result. The first call with such arguments (structures, shapes, dtypes, shardings, commitment; equal static arguments) records f: it runs once, on
  /// arrays without values. Inside another jitted function it is part of that one. Throws: what f throws; CommitmentError where what it uses lies on several lists
  /// of devices; Error where a value is read inside.
  template <class... Args>
  auto operator()(const Args&... args) const {
    if (detail::tracing()) return f_(args...);
    auto call = call_of(args...);
    const auto found = find<Args...>(call, args...);
    using Result = std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>>;
    const auto results = programs_->run(*found.program, std::move(call));
    const Array* next = results.data();
    return detail::ArraysIn<Result>::in(std::any_cast<const Result&>(*found.prototype), next);
  }

  /// Local. The calls that the program for such arguments makes, with layouts and what moves; nothing runs.
  template <class... Args>
  std::string lower(const Args&... args) const {
    return detail::Programs::text(*find<Args...>(call_of(args...), args...).program);
  }

  /// Local. How often f was recorded.
  std::int64_t trace_count() const { return programs_->count(); }

 private:
  template <class... Args>
  static detail::Programs::Call call_of(const Args&... args) {
    detail::Programs::Call call;
    const auto take = [&](const auto& arg) {
      detail::take_arrays(arg, call.arguments, call.structure);
      call.ends.push_back(call.arguments.size());
      if constexpr (!detail::HoldsArrays<decltype(arg)>) call.statics.emplace_back(arg);
    };
    (take(args), ...);
    return call;
  }

  template <class... Args>
  detail::Programs::Found find(const detail::Programs::Call& call, const Args&... args) const {
    using Result = std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>>;
    static_assert(detail::HoldsArrays<Result>, "jit: a jitted function returns an Array, or vectors, tuples, pairs, string-keyed maps or trees of them");
    const auto same = [&](const std::vector<std::any>& others) {
      std::size_t k = 0;
      const auto equal = [&](const auto& arg) {
        using T = std::remove_cvref_t<decltype(arg)>;
        if constexpr (detail::HoldsArrays<T>) {
          return true;
        } else {
          const auto* const other = std::any_cast<T>(&others[k++]);
          return other != nullptr && *other == arg;
        }
      };
      return (equal(args) && ...);
    };
    std::any prototype;
    const auto f = [&](const std::vector<Array>& arguments) {
      const Array* next = arguments.data();
      const std::tuple<Args...> traced{detail::with_arrays(args, next)...};  // braces: from left to right
      Result result = std::apply(f_, traced);
      std::vector<Array> arrays;
      detail::ArraysIn<Result>::out(result, arrays);
      prototype = std::move(result);
      return arrays;
    };
    return programs_->find(call, same, f, [&] { return std::move(prototype); });
  }

  F f_;
  std::shared_ptr<detail::Programs> programs_;
};

/// Local. f, recorded at its first call and run as a program from then on (design 020).
///
/// auto step = jit([](const Array& x, const Array& w) { return tanh(matmul(x, w)); }); step(x, w);
template <class F>
Jitted<std::remove_cvref_t<F>> jit(F&& f, JitOptions options = {}) {
  return {std::forward<F>(f), std::move(options)};
}

}  // namespace meshwise
