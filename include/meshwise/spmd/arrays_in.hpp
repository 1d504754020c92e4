#pragma once
// Arrays inside C++ values: in vectors, tuples, pairs and string-keyed maps, nested, and in trees; taken out in order, and put back.

#include <concepts>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "meshwise/array/tree.hpp"

namespace meshwise::detail {

/// Local. How a type holds arrays: out(x, all) appends them, in(x, next) is x with the next ones, text(x) its structure.
template <class T>
struct ArraysIn {
  static constexpr bool any = false;
};

template <class T>
concept HoldsArrays = ArraysIn<std::remove_cvref_t<T>>::any;

template <>
struct ArraysIn<Array> {
  static constexpr bool any = true;
  static void out(const Array& x, std::vector<Array>& all) { all.push_back(x); }
  static Array in(const Array&, const Array*& next) { return *next++; }
  static void text(const Array&, std::string& words) { words += '*'; }
};

template <>
struct ArraysIn<Tree> {
  static constexpr bool any = true;
  static void out(const Tree& x, std::vector<Array>& all) {
    for (auto& leaf : tree_leaves(x)) all.push_back(std::move(leaf));
  }
  static Tree in(const Tree& x, const Array*& next) {
    const auto count = tree_leaves(x).size();
    const std::vector<Array> leaves(next, next + count);
    next += count;
    return tree_unflatten(x, leaves);
  }
  static void text(const Tree& x, std::string& words) {
    switch (x.kind()) {
      case Tree::Kind::empty: words += '-'; break;
      case Tree::Kind::leaf: words += '*'; break;
      case Tree::Kind::dict:
        words += '{';
        for (const auto& [key, value] : x.entries()) {
          words += std::to_string(key.size()) + ':' + key;
          text(value, words);
        }
        words += '}';
        break;
      default:
        words += x.kind() == Tree::Kind::list ? '[' : '(';
        for (const auto& item : x.items()) text(item, words);
        words += x.kind() == Tree::Kind::list ? ']' : ')';
    }
  }
};

template <HoldsArrays T>
struct ArraysIn<std::vector<T>> {
  static constexpr bool any = true;
  static void out(const std::vector<T>& x, std::vector<Array>& all) {
    for (const auto& item : x) ArraysIn<T>::out(item, all);
  }
  static std::vector<T> in(const std::vector<T>& x, const Array*& next) {
    std::vector<T> made;
    for (const auto& item : x) made.push_back(ArraysIn<T>::in(item, next));
    return made;
  }
  static void text(const std::vector<T>& x, std::string& words) {
    words += '[';
    for (const auto& item : x) ArraysIn<T>::text(item, words);
    words += ']';
  }
};

template <HoldsArrays... T>
struct ArraysIn<std::tuple<T...>> {
  static constexpr bool any = true;
  static void out(const std::tuple<T...>& x, std::vector<Array>& all) {
    std::apply([&](const auto&... item) { (ArraysIn<std::remove_cvref_t<decltype(item)>>::out(item, all), ...); }, x);
  }
  static std::tuple<T...> in(const std::tuple<T...>& x, const Array*& next) {
    // Braces: from left to right.
    return std::apply([&](const auto&... item) { return std::tuple<T...>{ArraysIn<std::remove_cvref_t<decltype(item)>>::in(item, next)...}; }, x);
  }
  static void text(const std::tuple<T...>& x, std::string& words) {
    words += '(';
    std::apply([&](const auto&... item) { (ArraysIn<std::remove_cvref_t<decltype(item)>>::text(item, words), ...); }, x);
    words += ')';
  }
};

template <HoldsArrays A, HoldsArrays B>
struct ArraysIn<std::pair<A, B>> {
  static constexpr bool any = true;
  static void out(const std::pair<A, B>& x, std::vector<Array>& all) {
    ArraysIn<A>::out(x.first, all);
    ArraysIn<B>::out(x.second, all);
  }
  static std::pair<A, B> in(const std::pair<A, B>& x, const Array*& next) { return std::pair<A, B>{ArraysIn<A>::in(x.first, next), ArraysIn<B>::in(x.second, next)}; }
  static void text(const std::pair<A, B>& x, std::string& words) {
    words += '(';
    ArraysIn<A>::text(x.first, words);
    ArraysIn<B>::text(x.second, words);
    words += ')';
  }
};

template <HoldsArrays T>
struct ArraysIn<std::map<std::string, T>> {
  static constexpr bool any = true;
  static void out(const std::map<std::string, T>& x, std::vector<Array>& all) {
    for (const auto& [key, value] : x) ArraysIn<T>::out(value, all);
  }
  static std::map<std::string, T> in(const std::map<std::string, T>& x, const Array*& next) {
    std::map<std::string, T> made;
    for (const auto& [key, value] : x) made.emplace(key, ArraysIn<T>::in(value, next));
    return made;
  }
  static void text(const std::map<std::string, T>& x, std::string& words) {
    words += '{';
    for (const auto& [key, value] : x) {
      words += std::to_string(key.size()) + ':' + key;
      ArraysIn<T>::text(value, words);
    }
    words += '}';
  }
};

/// Local. The structure of an argument, and its arrays appended to `all`; of one without arrays nothing.
template <class T>
void take_arrays(const T& x, std::vector<Array>& all, std::string& words) {
  if constexpr (HoldsArrays<T>) {
    ArraysIn<T>::out(x, all);
    ArraysIn<T>::text(x, words);
  } else {
    words += '.';
  }
}

/// Local. The argument with the next arrays in place of its own.
template <class T>
T with_arrays(const T& x, const Array*& next) {
  if constexpr (HoldsArrays<T>)
    return ArraysIn<T>::in(x, next);
  else
    return x;
}

}  // namespace meshwise::detail
