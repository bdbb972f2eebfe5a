// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A parameter type for anything callable: it refers to the callable instead of copying it, so that
// passing a lambda costs two pointers and never allocates. Not for members: it must not outlive the
// call that it is passed to.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace aster {

template <typename Signature>
class FunctionRef;

template <typename Return, typename... Args>
class FunctionRef<Return(Args...)> {
 public:
  template <typename Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef> &&
             !std::is_function_v<std::remove_reference_t<Callable>> &&
             std::is_invocable_r_v<Return, Callable&, Args...>)
  FunctionRef(Callable&& callable)  // NOLINT(google-explicit-constructor,bugprone-forwarding-*)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Args... args) -> Return {
          return (*static_cast<std::remove_reference_t<Callable>*>(object))(
              std::forward<Args>(args)...);
        }) {}

  // A plain function. Its address is stored as an object pointer, which POSIX allows.
  FunctionRef(Return (*function)(Args...))  // NOLINT(google-explicit-constructor)
      : object_(reinterpret_cast<void*>(function)), call_([](void* object, Args... args) -> Return {
          return reinterpret_cast<Return (*)(Args...)>(object)(std::forward<Args>(args)...);
        }) {}

  Return operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;  // borrowed
  Return (*call_)(void*, Args...);
};

}  // namespace aster
