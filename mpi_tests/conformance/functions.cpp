// The vectors' names of operations, and what the library calls them.

#include <algorithm>

#include "common.hpp"

namespace conformance {

namespace {

using mw::Array, mw::Operand;
using Args = std::vector<Operand>;
using Arrays = std::vector<Array>;
using Function = std::function<Arrays(const Args&, const json& kw)>;

Array array(const Args& args, std::size_t i) { return args.at(i).array() != nullptr ? *args[i].array() : mw::asarray(*args[i].scalar()); }

std::vector<std::int64_t> axes_of(const json& axis) {
  if (axis.is_null()) return {};
  if (axis.is_number()) return {axis.get<std::int64_t>()};
  return ints_of(axis);
}

std::optional<mw::Dtype> dtype_in(const json& kw) {
  if (!kw.contains("dtype") || kw["dtype"].is_null()) return {};
  return dtype_of(kw["dtype"]);
}

/// A reduction; `axis: []` reduces nothing, which is a reduction over a new axis of length 1.
template <class F>
Function reduction(F f) {
  return [f](const Args& args, const json& kw) -> Arrays {
    const auto x = array(args, 0);
    const auto axis = kw.value("axis", json());
    const bool keep = kw.value("keepdims", false);
    if (axis.is_array() && axis.empty()) return {f(mw::expand_dims(x, 0), std::vector<std::int64_t>{0}, false, kw)};
    return {f(x, axes_of(axis), keep, kw)};
  };
}

Function unary(Array (*f)(const Array&)) {
  return [f](const Args& args, const json&) -> Arrays { return {f(array(args, 0))}; };
}

Function binary(Array (*f)(const Operand&, const Operand&)) {
  return [f](const Args& args, const json&) -> Arrays { return {f(args.at(0), args.at(1))}; };
}

std::optional<Operand> literal_of(const json& j) {
  if (j.is_null()) return {};
  if (j.is_boolean()) return Operand(j.get<bool>());
  return j.is_number_integer() ? Operand(j.get<std::int64_t>()) : Operand(j.get<double>());
}

Array clip(const Args& args, const json& kw) {
  if (args.size() == 3) return mw::clip(array(args, 0), args[1], args[2]);
  return mw::clip(array(args, 0), literal_of(kw.value("min", json())), literal_of(kw.value("max", json())));
}

mw::IndexExpression item_of(const json& j) {
  if (j.is_null()) return mw::none;
  if (j.is_number_integer()) return j.get<std::int64_t>();
  if (j.is_string()) return mw::ellipsis;
  if (j.contains("array")) return mw::asarray(bytes_of(j["array"]));
  // Layouts write a slice as a list.
  const auto& s = j.is_array() ? j : j["slice"];
  const auto bound = [&](std::size_t i) { return s[i].is_null() ? std::optional<std::int64_t>{} : s[i].get<std::int64_t>(); };
  return mw::Slice(bound(0), bound(1), bound(2));
}

std::vector<mw::IndexExpression> items_of(const json& kw) {
  std::vector<mw::IndexExpression> items;
  for (const auto& item : kw["index"]) items.push_back(item_of(item));
  return items;
}

Arrays index(const Args& args, const json& kw) { return {mw::getitem(array(args, 0), items_of(kw))}; }

Array updated(const Args& args, const json& kw) {
  const auto part = mw::at(array(args, 0), items_of(kw));
  const auto op = kw.value("op", "set");
  if (op == "set") return part.set(args.at(1));
  if (op == "add") return part.add(args.at(1));
  if (op == "subtract") return part.subtract(args.at(1));
  if (op == "multiply") return part.multiply(args.at(1));
  if (op == "max") return part.max(args.at(1));
  if (op == "min") return part.min(args.at(1));
  throw Skip{"at." + op};
}

std::optional<std::int64_t> integer_in(const json& kw, const char* name) {
  if (!kw.contains(name) || kw[name].is_null()) return {};
  return kw[name].get<std::int64_t>();
}

/// An argument that a keyword points to.
std::optional<Array> pointed_to(const Args& args, const json& kw, const char* name) {
  const auto at = integer_in(kw, name);
  if (!at) return {};
  return array(args, static_cast<std::size_t>(*at));
}

Arrays pad(const Args& args, const json& kw) {
  std::vector<std::pair<std::int64_t, std::int64_t>> widths;
  for (const auto& pair : kw.contains("widths") ? kw["widths"] : kw["pad_width"]) widths.emplace_back(pair[0].get<std::int64_t>(), pair[1].get<std::int64_t>());
  const std::map<std::string, mw::PadMode> modes{
      {"edge", mw::PadMode::edge}, {"reflect", mw::PadMode::reflect}, {"symmetric", mw::PadMode::symmetric}, {"wrap", mw::PadMode::wrap}};
  if (const auto mode = modes.find(kw.value("mode", "constant")); mode != modes.end()) return {mw::pad(array(args, 0), widths, mode->second)};
  const auto value = literal_of(kw.value("constant_values", json(0)));
  return {mw::pad(array(args, 0), widths, *value->scalar())};
}

Arrays roll(const Args& args, const json& kw) {
  const auto x = array(args, 0);
  const auto axis = kw.value("axis", json());
  const auto shifts = axes_of(kw["shift"]);
  if (axis.is_null()) return {mw::roll(x, shifts[0])};
  const auto axes = axes_of(axis);
  return {mw::roll(x, shifts.size() == 1 ? std::vector(axes.size(), shifts[0]) : shifts, axes)};
}

Arrays arrays_of(const Args& args) {
  Arrays out;
  for (std::size_t i = 0; i < args.size(); ++i) out.push_back(array(args, i));
  return out;
}

Arrays concat(const Args& args, const json& kw) {
  auto arrays = arrays_of(args);
  if (kw.contains("axis") && kw["axis"].is_null()) {
    for (auto& x : arrays) x = mw::reshape(x, {-1});
    return {mw::concat(arrays, 0)};
  }
  return {mw::concat(arrays, kw.value("axis", std::int64_t{0}))};
}

Array tensordot(const Args& args, const json& kw) {
  const auto& axes = kw["axes"];
  if (axes.is_number()) return mw::tensordot(array(args, 0), array(args, 1), axes.get<std::int64_t>());
  return mw::tensordot(array(args, 0), array(args, 1), axes_of(axes[0]), axes_of(axes[1]));
}

Array squeeze(const Args& args, const json& kw) { return mw::squeeze(array(args, 0), axes_of(kw.value("axis", json()))); }
Array flip(const Args& args, const json& kw) { return mw::flip(array(args, 0), axes_of(kw.value("axis", json()))); }

void add_parts(std::map<std::string, Function>& t) {
  const auto sections = [](const Args& a, const json& kw, bool equal) {
    const auto axis = kw.value("axis", std::int64_t{0});
    const auto& asked = kw["indices_or_sections"];
    if (!asked.is_number()) return mw::split(array(a, 0), ints_of(asked), axis);
    return equal ? mw::split(array(a, 0), asked.get<std::int64_t>(), axis) : mw::array_split(array(a, 0), asked.get<std::int64_t>(), axis);
  };
  t["split"] = [=](const Args& a, const json& kw) -> Arrays { return sections(a, kw, true); };
  t["array_split"] = [=](const Args& a, const json& kw) -> Arrays { return sections(a, kw, false); };
  t["tile"] = [](const Args& a, const json& kw) -> Arrays { return {mw::tile(array(a, 0), ints_of(kw["reps"]))}; };
  t["repeat"] = [](const Args& a, const json& kw) -> Arrays {
    const auto axis = integer_in(kw, "axis");
    if (kw["repeats"].is_number()) return {mw::repeat(array(a, 0), kw["repeats"].get<std::int64_t>(), axis)};
    return {mw::repeat(array(a, 0), ints_of(kw["repeats"]), axis)};
  };
  t["tril"] = [](const Args& a, const json& kw) -> Arrays { return {mw::tril(array(a, 0), kw.value("k", std::int64_t{0}))}; };
  t["triu"] = [](const Args& a, const json& kw) -> Arrays { return {mw::triu(array(a, 0), kw.value("k", std::int64_t{0}))}; };
  t["diagonal"] = [](const Args& a, const json& kw) -> Arrays { return {mw::diagonal(array(a, 0), kw.value("offset", std::int64_t{0}))}; };
  t["trace"] = [](const Args& a, const json& kw) -> Arrays { return {mw::trace(array(a, 0), kw.value("offset", std::int64_t{0}), dtype_in(kw))}; };
  t["meshgrid"] = [](const Args& a, const json& kw) -> Arrays {
    Arrays vectors;
    for (std::size_t i = 0; i < a.size(); ++i) vectors.push_back(array(a, i));
    return mw::meshgrid(vectors, kw.value("indexing", "xy"));
  };
}

void add_orders(std::map<std::string, Function>& t) {
  t["cumulative_sum"] = [](const Args& a, const json& kw) -> Arrays { return {mw::cumulative_sum(array(a, 0), integer_in(kw, "axis"), dtype_in(kw), kw.value("include_initial", false))}; };
  t["cumulative_prod"] = [](const Args& a, const json& kw) -> Arrays { return {mw::cumulative_prod(array(a, 0), integer_in(kw, "axis"), dtype_in(kw), kw.value("include_initial", false))}; };
  // JAX's keeps the dtype of small integers.
  t["cumsum"] = [](const Args& a, const json& kw) -> Arrays {
    const auto x = array(a, 0);
    return {mw::cumulative_sum(x, integer_in(kw, "axis"), x.dtype() == mw::bool_ ? mw::int32 : x.dtype())};
  };
  t["diff"] = [](const Args& a, const json& kw) -> Arrays {
    return {mw::diff(array(a, 0), kw.value("axis", std::int64_t{-1}), kw.value("n", std::int64_t{1}), pointed_to(a, kw, "prepend"), pointed_to(a, kw, "append"))};
  };
  t["sort"] = [](const Args& a, const json& kw) -> Arrays { return {mw::sort(array(a, 0), kw.value("axis", std::int64_t{-1}), kw.value("descending", false))}; };
  t["argsort"] = [](const Args& a, const json& kw) -> Arrays { return {mw::argsort(array(a, 0), kw.value("axis", std::int64_t{-1}), kw.value("descending", false))}; };
  const auto side = [](const json& kw) { return kw.value("side", "left") == "right" ? mw::Side::right : mw::Side::left; };
  t["searchsorted"] = [=](const Args& a, const json& kw) -> Arrays { return {mw::searchsorted(array(a, 0), array(a, 1), side(kw), pointed_to(a, kw, "sorter"))}; };
  t["digitize"] = [](const Args& a, const json& kw) -> Arrays { return {mw::digitize(array(a, 0), array(a, 1), kw.value("right", false))}; };
  t["unique_values"] = [](const Args& a, const json&) -> Arrays { return {mw::unique_values(array(a, 0))}; };
  t["unique_counts"] = [](const Args& a, const json&) -> Arrays {
    const auto u = mw::unique_counts(array(a, 0));
    return {u.values, u.counts};
  };
  t["unique_inverse"] = [](const Args& a, const json&) -> Arrays {
    const auto u = mw::unique_inverse(array(a, 0));
    return {u.values, u.inverse};
  };
  t["unique_all"] = [](const Args& a, const json&) -> Arrays {
    const auto u = mw::unique_all(array(a, 0));
    return {u.values, u.indices, u.inverse, u.counts};
  };
  t["bincount"] = [](const Args& a, const json& kw) -> Arrays { return {mw::bincount(array(a, 0), pointed_to(a, kw, "weights"), kw.value("minlength", std::int64_t{0}), integer_in(kw, "length"))}; };
  t["histogram"] = [](const Args& a, const json& kw) -> Arrays {
    const auto pair = [](const mw::Histogram& h) -> Arrays { return {h.counts, h.edges}; };
    if (a.size() > 1) return pair(mw::histogram(array(a, 0), array(a, 1)));
    std::optional<std::pair<double, double>> range;
    if (const auto& r = kw["range"]; !r.is_null()) range = {r[0].get<double>(), r[1].get<double>()};
    return pair(mw::histogram(array(a, 0), kw["bins"].get<std::int64_t>(), range));
  };
}

std::map<std::string, Function> make_table() {
  std::map<std::string, Function> t;
  t["add"] = binary(mw::add), t["subtract"] = binary(mw::subtract), t["multiply"] = binary(mw::multiply), t["divide"] = binary(mw::divide);
  t["floor_divide"] = binary(mw::floor_divide), t["remainder"] = binary(mw::remainder), t["pow"] = binary(mw::pow);
  t["maximum"] = binary(mw::maximum), t["minimum"] = binary(mw::minimum), t["atan2"] = binary(mw::atan2), t["hypot"] = binary(mw::hypot);
  t["logaddexp"] = binary(mw::logaddexp), t["copysign"] = binary(mw::copysign), t["nextafter"] = binary(mw::nextafter);
  t["equal"] = binary(mw::equal), t["not_equal"] = binary(mw::not_equal), t["less"] = binary(mw::less), t["less_equal"] = binary(mw::less_equal);
  t["greater"] = binary(mw::greater), t["greater_equal"] = binary(mw::greater_equal);
  t["logical_and"] = binary(mw::logical_and), t["logical_or"] = binary(mw::logical_or), t["logical_xor"] = binary(mw::logical_xor);
  t["bitwise_and"] = binary(mw::bitwise_and), t["bitwise_or"] = binary(mw::bitwise_or), t["bitwise_xor"] = binary(mw::bitwise_xor);
  t["bitwise_left_shift"] = binary(mw::bitwise_left_shift), t["bitwise_right_shift"] = binary(mw::bitwise_right_shift);
  t["logical_not"] = unary(mw::logical_not), t["bitwise_invert"] = unary(mw::bitwise_invert);
  t["negative"] = unary(mw::negative), t["positive"] = unary(mw::positive), t["abs"] = unary(mw::abs), t["sign"] = unary(mw::sign), t["square"] = unary(mw::square);
  t["reciprocal"] = unary(mw::reciprocal), t["floor"] = unary(mw::floor), t["ceil"] = unary(mw::ceil), t["round"] = unary(mw::round), t["trunc"] = unary(mw::trunc);
  t["real"] = unary(mw::real), t["imag"] = unary(mw::imag), t["conj"] = unary(mw::conj);
  t["isnan"] = unary(mw::isnan), t["isinf"] = unary(mw::isinf), t["isfinite"] = unary(mw::isfinite), t["signbit"] = unary(mw::signbit);
  t["sqrt"] = unary(mw::sqrt), t["exp"] = unary(mw::exp), t["expm1"] = unary(mw::expm1), t["log"] = unary(mw::log), t["log1p"] = unary(mw::log1p);
  t["log2"] = unary(mw::log2), t["log10"] = unary(mw::log10), t["sin"] = unary(mw::sin), t["cos"] = unary(mw::cos), t["tan"] = unary(mw::tan);
  t["asin"] = unary(mw::asin), t["acos"] = unary(mw::acos), t["atan"] = unary(mw::atan), t["sinh"] = unary(mw::sinh), t["cosh"] = unary(mw::cosh), t["tanh"] = unary(mw::tanh);
  t["asinh"] = unary(mw::asinh), t["acosh"] = unary(mw::acosh), t["atanh"] = unary(mw::atanh);
  t["matrix_transpose"] = unary(mw::matrix_transpose);
  t["clip"] = [](const Args& a, const json& kw) -> Arrays { return {clip(a, kw)}; };
  t["where"] = [](const Args& a, const json&) -> Arrays { return {mw::where(a.at(0), a.at(1), a.at(2))}; };
  t["astype"] = [](const Args& a, const json& kw) -> Arrays { return {mw::astype(array(a, 0), dtype_of(kw["dtype"]))}; };

  t["sum"] = reduction([](const Array& x, const auto& axes, bool keep, const json& kw) { return mw::sum(x, axes, keep, dtype_in(kw)); });
  t["prod"] = reduction([](const Array& x, const auto& axes, bool keep, const json& kw) { return mw::prod(x, axes, keep, dtype_in(kw)); });
  t["mean"] = reduction([](const Array& x, const auto& axes, bool keep, const json&) { return mw::mean(x, axes, keep); });
  t["var"] = reduction([](const Array& x, const auto& axes, bool keep, const json& kw) { return mw::var(x, axes, keep, kw.value("correction", 0.0)); });
  t["std"] = reduction([](const Array& x, const auto& axes, bool keep, const json& kw) { return mw::stddev(x, axes, keep, kw.value("correction", 0.0)); });
  t["max"] = reduction([](const Array& x, const auto& axes, bool keep, const json&) { return mw::max(x, axes, keep); });
  t["min"] = reduction([](const Array& x, const auto& axes, bool keep, const json&) { return mw::min(x, axes, keep); });
  t["all"] = reduction([](const Array& x, const auto& axes, bool keep, const json&) { return mw::all(x, axes, keep); });
  t["any"] = reduction([](const Array& x, const auto& axes, bool keep, const json&) { return mw::any(x, axes, keep); });
  t["count_nonzero"] = reduction([](const Array& x, const auto& axes, bool keep, const json&) { return mw::count_nonzero(x, axes, keep); });
  const auto axis_of = [](const json& kw) { return kw.contains("axis") && !kw["axis"].is_null() ? std::optional(kw["axis"].get<std::int64_t>()) : std::nullopt; };
  t["argmax"] = [axis_of](const Args& a, const json& kw) -> Arrays { return {mw::argmax(array(a, 0), axis_of(kw), kw.value("keepdims", false))}; };
  t["argmin"] = [axis_of](const Args& a, const json& kw) -> Arrays { return {mw::argmin(array(a, 0), axis_of(kw), kw.value("keepdims", false))}; };

  t["matmul"] = [](const Args& a, const json&) -> Arrays { return {mw::matmul(array(a, 0), array(a, 1))}; };
  t["tensordot"] = [](const Args& a, const json& kw) -> Arrays { return {tensordot(a, kw)}; };
  t["vecdot"] = [](const Args& a, const json& kw) -> Arrays { return {mw::vecdot(array(a, 0), array(a, 1), kw.value("axis", std::int64_t{-1}))}; };
  t["outer"] = [](const Args& a, const json&) -> Arrays { return {mw::outer(array(a, 0), array(a, 1))}; };
  t["einsum"] = [](const Args& a, const json& kw) -> Arrays { return {mw::einsum(kw["subscripts"].get<std::string>(), arrays_of(a))}; };

  t["reshape"] = [](const Args& a, const json& kw) -> Arrays { return {mw::reshape(array(a, 0), shape_of(kw["shape"]))}; };
  t["permute_dims"] = [](const Args& a, const json& kw) -> Arrays { return {mw::permute_dims(array(a, 0), ints_of(kw["axes"]))}; };
  t["transpose"] = [](const Args& a, const json& kw) -> Arrays { return {mw::transpose(array(a, 0), ints_of(kw["perm"]))}; };
  t["expand_dims"] = [](const Args& a, const json& kw) -> Arrays {
    auto axes = axes_of(kw["axis"]);
    auto x = array(a, 0);
    const auto ndim = x.ndim() + static_cast<std::int64_t>(axes.size());
    for (auto& axis : axes) axis = mw::normalize_axis(axis, ndim, "expand_dims");
    std::sort(axes.begin(), axes.end());
    for (const auto axis : axes) x = mw::expand_dims(x, axis);
    return {x};
  };
  t["squeeze"] = [](const Args& a, const json& kw) -> Arrays { return {squeeze(a, kw)}; };
  t["broadcast_to"] = [](const Args& a, const json& kw) -> Arrays { return {mw::broadcast_to(array(a, 0), shape_of(kw["shape"]))}; };
  t["broadcast_arrays"] = [](const Args& a, const json&) -> Arrays { return mw::broadcast_arrays(arrays_of(a)); };
  t["concat"] = concat;
  t["stack"] = [](const Args& a, const json& kw) -> Arrays { return {mw::stack(arrays_of(a), kw.value("axis", std::int64_t{0}))}; };
  t["unstack"] = [](const Args& a, const json& kw) -> Arrays { return mw::unstack(array(a, 0), kw.value("axis", std::int64_t{0})); };
  t["flip"] = [](const Args& a, const json& kw) -> Arrays { return {flip(a, kw)}; };
  t["roll"] = roll;
  t["moveaxis"] = [](const Args& a, const json& kw) -> Arrays {
    if (!kw["source"].is_number()) return {mw::moveaxis(array(a, 0), ints_of(kw["source"]), ints_of(kw["destination"]))};
    return {mw::moveaxis(array(a, 0), kw["source"].get<std::int64_t>(), kw["destination"].get<std::int64_t>())};
  };
  t["swapaxes"] = [](const Args& a, const json& kw) -> Arrays { return {mw::swapaxes(array(a, 0), kw["axis1"].get<std::int64_t>(), kw["axis2"].get<std::int64_t>())}; };
  t["pad"] = pad;
  t["index"] = index;
  t["take"] = [](const Args& a, const json& kw) -> Arrays {
    const auto axis = kw.value("axis", json());
    return {axis.is_null() ? mw::take(mw::reshape(array(a, 0), {-1}), array(a, 1)) : mw::take(array(a, 0), array(a, 1), axis.get<std::int64_t>())};
  };
  t["take_along_axis"] = [](const Args& a, const json& kw) -> Arrays { return {mw::take_along_axis(array(a, 0), array(a, 1), kw["axis"].get<std::int64_t>())}; };
  t["update"] = [](const Args& a, const json& kw) -> Arrays { return {updated(a, kw)}; };
  t["at_set"] = t["update"];
  t["mask"] = [](const Args& a, const json&) -> Arrays { return {array(a, 0)[array(a, 1)]}; };
  t["nonzero"] = [](const Args& a, const json& kw) -> Arrays { return mw::nonzero(array(a, 0), integer_in(kw, "size"), integer_in(kw, "fill_value").value_or(0)); };
  add_parts(t);
  add_orders(t);
  return t;
}

}  // namespace

std::vector<Array> call(const std::string& function, const Args& args, const json& kw) {
  static const auto table = make_table();
  const auto found = table.find(function);
  if (found == table.end()) throw Skip{function};
  return found->second(args, kw.is_null() ? json::object() : kw);
}

}  // namespace conformance
