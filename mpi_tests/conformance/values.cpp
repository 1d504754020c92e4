// Values, dtypes and random numbers. Every case runs twice: on uncommitted operands, and on operands split over the devices,
// because no layout may change an answer.

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "../../src/ops/kernels/random_bits.hpp"
#include "common.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace conformance {

mw::LocalArray bytes_of(const json& array) {
  const auto& hex = array["hex"].get_ref<const std::string&>();
  mw::LocalArray out(shape_of(array["shape"]), dtype_of(array["dtype"]));
  expect(static_cast<std::int64_t>(hex.size()) == 2 * out.nbytes(), "{} hex digits for {} bytes", hex.size(), out.nbytes());
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t i = 0; i < hex.size() / 2; ++i) out.data()[i] = static_cast<std::byte>(digit(hex[2 * i]) * 16 + digit(hex[2 * i + 1]));
  return out;
}

namespace {

/// How near an answer must be.
struct Tolerance {
  std::int64_t ulp = 0;
  std::optional<double> abs{};
  bool any_zero_sign = false;
};

template <class T>
double value_of(T v) {
  if constexpr (std::same_as<T, mw::float16_t> || std::same_as<T, mw::bfloat16_t>) return static_cast<double>(static_cast<float>(v));
  else return static_cast<double>(v);
}

/// Floats in order as integers, -0 and +0 both 0: neighbours differ by one.
template <class T>
std::int64_t ordinal(T v) {
  using Bits = std::conditional_t<sizeof(T) == 2, std::int16_t, std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>;
  Bits bits;
  std::memcpy(&bits, &v, sizeof(T));
  return bits >= 0 ? static_cast<std::int64_t>(bits) : -static_cast<std::int64_t>(bits & std::numeric_limits<Bits>::max());
}

template <class T>
bool near_real(T got, T want, const Tolerance& t) {
  if (std::memcmp(&got, &want, sizeof(T)) == 0) return true;
  const double g = value_of(got), w = value_of(want);
  if (std::isnan(g) || std::isnan(w)) return std::isnan(g) && std::isnan(w);
  if (g == 0 && w == 0 && t.any_zero_sign) return true;
  if (std::isinf(g) || std::isinf(w)) return g == w;
  if (t.ulp > 0 || t.abs) {
    const auto a = ordinal(got), b = ordinal(want);
    const auto steps = a > b ? static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b) : static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
    if (steps <= static_cast<std::uint64_t>(t.ulp)) return true;
  }
  return t.abs && std::abs(g - w) <= *t.abs;
}

template <class T>
bool near_complex(std::complex<T> got, std::complex<T> want, const Tolerance& t) {
  const auto part = [&](T g, T w) { return near_real(g, w, Tolerance{0, {}, t.any_zero_sign}); };
  if (part(got.real(), want.real()) && part(got.imag(), want.imag())) return true;
  const double modulus = std::hypot(static_cast<double>(want.real()), static_cast<double>(want.imag()));
  const double off = std::hypot(static_cast<double>(got.real()) - static_cast<double>(want.real()), static_cast<double>(got.imag()) - static_cast<double>(want.imag()));
  if (!std::isfinite(off) || !std::isfinite(modulus)) return false;
  const double eps = sizeof(T) == 4 ? 0x1p-23 : 0x1p-52;
  return (t.ulp > 0 && off <= static_cast<double>(t.ulp) * eps * modulus) || (t.abs && off <= *t.abs);
}

template <class T>
bool near(T got, T want, const Tolerance& t) {
  if constexpr (std::integral<T>) return got == want;
  else if constexpr (std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>) return near_complex(got, want, t);
  else return near_real(got, want, t);
}

void compare(const mw::LocalArray& got, const mw::LocalArray& want, const Tolerance& tolerance, const std::string& where) {
  expect(got.dtype() == want.dtype() && got.shape() == want.shape(), "{}: {}[{}], want {}[{}]", where, mw::name(got.dtype()), mw::joined(got.shape()),
         mw::name(want.dtype()), mw::joined(want.shape()));
  mw::visit(got.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto g = got.view<T>();
    const auto w = want.view<T>();
    for (std::int64_t i = 0; i < got.size(); ++i)
      if (!near(g[i], w[i], tolerance)) {
        double a = 0, b = 0;
        if constexpr (std::integral<T> || std::floating_point<T> || sizeof(T) == 2) a = value_of(g[i]), b = value_of(w[i]);
        throw Failure(fmt::format("{}: element {} is {}, want {}", where, i, a, b));
      }
  });
}

mw::Operand literal_of(const json& j) {
  const auto weak = j["weak"].get<std::string>();
  if (weak == "bool") return mw::Operand(j["value"].get<bool>());
  if (weak == "int") return j["value"].is_number_unsigned() && j["value"].get<std::uint64_t>() > std::uint64_t(INT64_MAX) ? mw::Operand(j["value"].get<std::uint64_t>()) : mw::Operand(j["value"].get<std::int64_t>());
  if (weak == "complex") return mw::Operand(std::complex<double>(j["value"][0].get<double>(), j["value"][1].get<double>()));
  if (j.contains("hex")) {
    double value = 0;
    const auto& hex = j["hex"].get_ref<const std::string&>();
    const auto bytes = bytes_of({{"dtype", "float64"}, {"shape", json::array()}, {"hex", hex}});
    std::memcpy(&value, bytes.data(), sizeof value);
    return mw::Operand(value);
  }
  return mw::Operand(j["value"].get<double>());
}

/// An operand where it is, or split over all devices by a spec drawn from the case's name.
mw::Operand placed(const json& j, bool split, std::uint64_t draw) {
  if (j.contains("weak")) return literal_of(j);
  const auto x = mw::asarray(bytes_of(j));
  if (!split) return x;
  static const auto mesh = mw::make_mesh({2, 2, 2}, {"a", "b", "c"}, {.devices = mw::DeviceList{3, 1, 0, 2, 6, 7, 5, 4}});
  std::vector<std::vector<std::string>> entries(static_cast<std::size_t>(x.ndim()));
  for (const auto* axis : {"a", "b", "c"}) {
    draw = mw::detail::mix(draw, 7);
    if (x.ndim() > 0 && draw % 4 != 0) entries[draw / 4 % static_cast<std::uint64_t>(x.ndim())].emplace_back(axis);
  }
  std::vector<mw::SpecEntry> spec;
  for (auto& e : entries) spec.emplace_back(std::move(e));
  return mw::device_put(x, mw::NamedSharding(mesh, mw::PartitionSpec(spec)));
}

std::optional<mw::Dtype> dtype_in(const json& kw) {
  if (!kw.contains("dtype") || kw["dtype"].is_null()) return {};
  return dtype_of(kw["dtype"]);
}

mw::Scalar number(const json& j) { return j.is_number_integer() ? mw::Scalar(j.get<std::int64_t>()) : mw::Scalar(j.get<double>()); }

mw::Array create(const std::string& fn, const std::vector<mw::Operand>& a, const json& kw) {
  const auto dtype = dtype_in(kw);
  const auto scalar = [&](std::size_t i) { return *a.at(i).scalar(); };
  if (fn == "arange") return a.size() == 1 ? mw::arange(scalar(0), dtype) : mw::arange(scalar(0), scalar(1), a.size() > 2 ? scalar(2) : mw::Scalar(1), dtype);
  // JAX's count where the call gives none.
  if (fn == "linspace")
    return mw::linspace(scalar(0), scalar(1), a.size() > 2 ? scalar(2).integer() : 50, kw.value("endpoint", true), dtype);
  if (fn == "zeros") return mw::zeros(shape_of(kw["shape"]), dtype.value_or(mw::float32));
  if (fn == "ones") return mw::ones(shape_of(kw["shape"]), dtype.value_or(mw::float32));
  if (fn == "full") return mw::full(shape_of(kw["shape"]), scalar(0), dtype);
  if (fn == "eye")
    return mw::eye(kw["n"].get<std::int64_t>(), kw["m"].is_null() ? std::optional<std::int64_t>{} : kw["m"].get<std::int64_t>(), kw["k"].get<std::int64_t>(), dtype.value_or(mw::float32));
  if (fn == "zeros_like") return mw::zeros_like(*a.at(0).array(), dtype);
  if (fn == "ones_like") return mw::ones_like(*a.at(0).array(), dtype);
  if (fn == "full_like") return mw::full_like(*a.at(0).array(), scalar(1), dtype);
  if (fn == "asarray") return a.at(0).scalar() != nullptr ? mw::asarray(*a[0].scalar(), dtype) : mw::asarray(*a[0].array(), dtype);
  throw Skip{fn};
}

mw::detail::KeyWords key_words(const mw::Array& key) {
  const auto k = mw::device_get(key);
  return {k.view<std::uint32_t>()[0], k.view<std::uint32_t>()[1]};
}

/// Elements of an array too large to make: by index, as its shards would.
mw::Array bits_at(const mw::Array& key, const mw::LocalArray& indices, mw::Dtype dtype) {
  const auto words = key_words(key);
  mw::LocalArray out(indices.shape(), dtype);
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const auto at = static_cast<std::uint64_t>(indices.view<std::uint64_t>()[i]);
    const auto block = mw::detail::threefry(words, {static_cast<std::uint32_t>(at >> 32), static_cast<std::uint32_t>(at)});
    const std::uint64_t bits = dtype == mw::uint64 ? (std::uint64_t{block.a} << 32) | block.b : block.a ^ block.b;
    std::memcpy(out.data() + static_cast<std::size_t>(i) * mw::itemsize(dtype), &bits, mw::itemsize(dtype));
  }
  return mw::asarray(out);
}

/// Key and counter are pairs of words; they broadcast along leading axes.
mw::Array threefry(const mw::LocalArray& key, const mw::LocalArray& counter) {
  mw::LocalArray out(counter.shape(), mw::uint32);
  const auto half = counter.size() / 2;
  const auto c = counter.view<std::uint32_t>();
  const auto k = key.view<std::uint32_t>();
  for (std::int64_t i = 0; i < half; ++i) {
    // JAX lays the counters as two halves, x0 and x1.
    const auto block = mw::detail::threefry({k[0], k[1]}, {c[i], c[half + i]});
    out.mutable_view<std::uint32_t>()[i] = block.a;
    out.mutable_view<std::uint32_t>()[half + i] = block.b;
  }
  return mw::asarray(out);
}

mw::Array draw(const std::string& fn, const std::vector<mw::Operand>& a, const json& kw) {
  if (fn == "key") {
    const auto& seed = kw["seed"];
    return mw::random::key(seed.is_number_unsigned() ? static_cast<std::int64_t>(seed.get<std::uint64_t>()) : seed.get<std::int64_t>());
  }
  const auto& key = *a.at(0).array();
  const auto shape = kw.contains("shape") ? shape_of(kw["shape"]) : mw::Shape{};
  const auto dtype = dtype_in(kw);
  if (fn == "threefry2x32") return threefry(mw::device_get(key), mw::device_get(*a.at(1).array()));
  if (fn == "bits_at") return bits_at(key, mw::device_get(*a.at(1).array()), *dtype);
  if (fn == "split") return kw["num"].is_array() ? mw::random::split(key, shape_of(kw["num"])) : mw::random::split(key, kw["num"].get<std::int64_t>());
  if (fn == "fold_in") return mw::random::fold_in(key, kw["data"].get<std::int64_t>());
  if (fn == "bits") return mw::random::bits(key, shape, dtype.value_or(mw::uint32));
  if (fn == "uniform") return mw::random::uniform(key, shape, dtype.value_or(mw::float32), number(kw.value("minval", json(0))), number(kw.value("maxval", json(1))));
  if (fn == "normal") return mw::random::normal(key, shape, dtype.value_or(mw::float32));
  if (fn == "randint") {
    if (!kw["minval"].is_number() || !kw["maxval"].is_number()) throw Skip{"randint with array bounds"};
    return mw::random::randint(key, shape, number(kw["minval"]), number(kw["maxval"]), dtype.value_or(mw::int32));
  }
  if (fn == "bernoulli") return mw::random::bernoulli(key, number(kw["p"]), shape, kw.contains("p_dtype") ? dtype_of(kw["p_dtype"]) : mw::float32);
  if (fn == "permutation")
    return a.size() == 1 ? mw::random::permutation(key, kw["n"].get<std::int64_t>())
                         : mw::random::permutation(key, *a[1].array(), kw.value("axis", std::int64_t{0}), kw.value("independent", false));
  throw Skip{fn};
}

std::vector<mw::Array> run(const std::string& kind, const std::string& fn, const std::vector<mw::Operand>& args, const json& kw) {
  if (kind == "creation") return {create(fn, args, kw)};
  if (kind == "random") return {draw(fn, args, kw)};
  return call(fn, args, kw);
}

void values_once(const std::string& kind, const json& test, bool split) {
  const auto fn = test["fn"].get<std::string>();
  const json kw = test.contains("kw") && !test["kw"].is_null() ? test["kw"] : json::object();
  std::vector<mw::Operand> args;
  std::uint64_t name = mw::detail::hash_text(test["id"].get<std::string>());
  std::optional<std::string> refused;
  std::vector<mw::LocalArray> got;
  try {
    if (test.contains("args"))
      for (const auto& arg : test["args"]) args.push_back(placed(arg, split, ++name));
    for (const auto& x : run(kind, fn, args, kw)) got.push_back(mw::device_get(x));
  } catch (const mw::Error& error) {
    refused = error.what();
  }
  const std::string where = split ? "split" : "uncommitted";
  if (test.contains("error")) return expect(refused.has_value(), "{}: accepted", where);
  if (refused && test.value("jax_extension", false)) return;
  expect(!refused, "{}: refused: {}", where, refused.value_or(""));
  Tolerance tolerance;
  tolerance.ulp = test.value("ulp", std::int64_t{0});
  if (test.contains("abs") && !test["abs"].is_null()) tolerance.abs = test["abs"].get<double>();
  tolerance.any_zero_sign = test.value("zero_sign", std::string()) == "any";
  const auto& out = test["out"];
  const auto wanted = out.is_array() ? out : json::array({out});
  expect(got.size() == wanted.size(), "{}: {} arrays", where, got.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    auto want = bytes_of(wanted[i]);
    // zeros_like and its kin keep x's dtype (the Array API's rule); JAX with x64 off, which made these vectors, narrows 64 bits to 32.
    if (fn.ends_with("_like") && !kw.contains("dtype")) want = mw::astype(mw::asarray(want), args[0].array()->dtype()).local_value();
    compare(got[i], want, tolerance, where);
  }
}

Run values(const std::string& kind) {
  return [kind](const json& test) {
    values_once(kind, test, false);
    const bool has_arrays = test.contains("args") && std::any_of(test["args"].begin(), test["args"].end(), [](const json& a) { return a.contains("dtype"); });
    if (has_arrays) values_once(kind, test, true);
  };
}

/// A dtype's name or a literal, as a small operand.
mw::Operand sample(const json& arg, const mw::Shape& shape) {
  if (arg.is_object()) return literal_of(arg);
  return mw::ones(shape, dtype_of(arg));
}

void promotion(const json& test) {
  const auto group = test["fn"].get<std::string>(), op = test["op"].get<std::string>();
  const auto& args = test["args"];
  mw::Dtype got{};
  std::optional<std::string> refused;
  try {
    if (group == "promote_types") {
      got = mw::promote_types(dtype_of(args[0]), dtype_of(args[1]));
    } else if (group == "promote_weak") {
      got = literal_of(args[1]).scalar()->beside(dtype_of(args[0]));
    } else {
      std::vector<mw::Operand> operands;
      const auto shape = op == "matmul" || op == "tensordot" || op == "einsum" || op == "trace" ? mw::Shape{2, 2} : mw::Shape{2};
      if (op == "where") operands.emplace_back(mw::ones({2}, mw::bool_));
      for (const auto& arg : args) operands.push_back(sample(arg, shape));
      if (op == "searchsorted") operands.push_back(operands.front());
      json kw = json::object();
      if (op == "tensordot") kw["axes"] = 1;
      if (op == "einsum") kw["subscripts"] = "ij,jk->ik";
      if (op == "clip") kw["min"] = 0, kw["max"] = 1;
      if (op == "clip_float") kw["min"] = 0.5, kw["max"] = 1.5;
      got = group == "creation" ? create(op, operands, {{"shape", {2}}, {"n", 2}, {"m", nullptr}, {"k", 0}}).dtype()
                                : call(op == "clip_float" ? "clip" : op, operands, kw).front().dtype();
    }
  } catch (const mw::Error& error) {
    refused = error.what();
  }
  if (test.contains("error")) return expect(refused.has_value(), "accepted as {}", mw::name(got));
  // Complex numbers have no order here; JAX compares them lexicographically.
  const bool ordering = op == "max" || op == "min" || op == "argmax" || op == "argmin";
  if (ordering && mw::is_complex(dtype_of(args[0]))) return expect(refused.has_value(), "accepted");
  expect(!refused, "refused: {}", refused.value_or(""));
  expect(got == dtype_of(test["result"]), "{}", mw::name(got));
}

}  // namespace

void add_values(Kinds& kinds) {
  for (const auto* kind : {"values_elementwise", "values_reduce", "values_linalg", "values_manipulate", "random", "creation"}) kinds[kind] = values(kind);
  kinds["promotion"] = promotion;
}

}  // namespace conformance
