#pragma once
// A function that a parameter refers to: nothing is copied, and nothing outlives the call.

#include <memory>
#include <type_traits>
#include <utility>

namespace meshwise::detail {

template <class Signature>
class FunctionRef;

/// Local. Refers to any callable with that signature, for a call's duration (the standard's function_ref, P0792).
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  FunctionRef() = default;
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<Result, F&, Arguments...>)
  FunctionRef(F&& f)  // NOLINT: implicit, so that a lambda is an argument
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, Arguments... arguments) -> Result {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }
  explicit operator bool() const { return call_ != nullptr; }

 private:
  void* object_ = nullptr;
  Result (*call_)(void*, Arguments...) = nullptr;
};

}  // namespace meshwise::detail
