// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Errors as values: a function that can fail for reasons outside the program returns a Result. The
// codes are gRPC's, so that errors are sent between machines unchanged.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/check.h"

namespace aster {

enum class Code : uint8_t {
  kCancelled = 1,           // the caller gave up
  kUnknown = 2,             // nothing more is known
  kInvalidArgument = 3,     // the request is invalid, now and later
  kDeadlineExceeded = 4,    // it took too long
  kNotFound = 5,            // the named thing does not exist
  kAlreadyExists = 6,       // the thing to be made exists
  kPermissionDenied = 7,    // not allowed
  kResourceExhausted = 8,   // out of memory, disk, quota
  kFailedPrecondition = 9,  // valid, but not in this state
  kAborted = 10,            // lost a race; try again
  kOutOfRange = 11,         // past the end
  kUnimplemented = 12,      // understood, not supported
  kInternal = 13,           // a broken invariant that did not spread
  kUnavailable = 14,        // not now; try again
  kDataLoss = 15,           // damaged data
  kUnauthenticated = 16,    // the caller has not proved its identity
};

std::string_view CodeName(Code code);

// What failed, for what, and what to do next; a sentence or two that a user can act on.
class [[nodiscard]] Error {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // Adds where it happened, on the way up: Error("no such key").In("a.gguf") reads "a.gguf: no such
  // key".
  Error In(std::string_view where) &&;

 private:
  Code code_;
  std::string message_;
};

inline Error InvalidArgument(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}
inline Error NotFound(std::string message) { return {Code::kNotFound, std::move(message)}; }
inline Error ResourceExhausted(std::string message) {
  return {Code::kResourceExhausted, std::move(message)};
}
inline Error FailedPrecondition(std::string message) {
  return {Code::kFailedPrecondition, std::move(message)};
}
inline Error OutOfRange(std::string message) { return {Code::kOutOfRange, std::move(message)}; }
inline Error Unimplemented(std::string message) {
  return {Code::kUnimplemented, std::move(message)};
}
inline Error DataLoss(std::string message) { return {Code::kDataLoss, std::move(message)}; }

// An Error from the C library's errno, for a system call that failed on `what`.
Error SystemError(int error_number, std::string_view what);

// Aborts with the error: the program took the value of a Result without one.
[[noreturn]] void FailForLackOfValue(const Error& error);

// A value or an Error. Check ok() first: taking the missing one is a programmer mistake. A union of
// its own, as std::variant took a third of the time of compiling the files that use this.
template <typename T>
class [[nodiscard]] Result {
 public:
  using Value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

  Result()
    requires std::is_void_v<T>
      : value_(), ok_(true) {}
  // Implicit, so that a function can return either. NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : error_(std::move(error)), ok_(false) {}
  template <typename U = Value>
    requires(!std::is_void_v<T> && std::is_constructible_v<Value, U &&> &&
             !std::is_same_v<std::remove_cvref_t<U>, Result> &&
             !std::is_same_v<std::remove_cvref_t<U>, Error>)
  Result(U&& value)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : value_(std::forward<U>(value)), ok_(true) {}

  Result(const Result& other)
    requires std::is_copy_constructible_v<Value>
      : ok_(other.ok_) {
    if (ok_) {
      std::construct_at(&value_, other.value_);
    } else {
      std::construct_at(&error_, other.error_);
    }
  }
  Result(Result&& other) noexcept : ok_(other.ok_) {
    if (ok_) {
      std::construct_at(&value_, std::move(other.value_));
    } else {
      std::construct_at(&error_, std::move(other.error_));
    }
  }
  Result& operator=(const Result& other)
    requires std::is_copy_constructible_v<Value>
  {
    return *this = Result(other);
  }
  Result& operator=(Result&& other) noexcept {
    if (this == &other) return *this;
    std::destroy_at(this);
    return *std::construct_at(this, std::move(other));
  }
  ~Result() {
    if (ok_) {
      std::destroy_at(&value_);
    } else {
      std::destroy_at(&error_);
    }
  }

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok(); }

  const Error& error() const& {
    CHECK(!ok());
    return error_;
  }
  Error&& error() && {
    CHECK(!ok());
    return std::move(error_);
  }

  Value& value() & {
    if (!ok_) [[unlikely]]
      FailForLackOfValue(error_);
    return value_;
  }
  const Value& value() const& { return const_cast<Result*>(this)->value(); }
  Value&& value() && { return std::move(this->value()); }

  Value* operator->() { return &value(); }
  const Value* operator->() const { return &value(); }
  Value& operator*() & { return value(); }
  const Value& operator*() const& { return value(); }
  Value&& operator*() && { return std::move(*this).value(); }

  // Adds where it happened, if it failed.
  Result In(std::string_view where) && {
    if (ok()) return std::move(*this);
    return std::move(*this).error().In(where);
  }

 private:
  union {
    Value value_;
    Error error_;
  };
  bool ok_;
};

using Status = Result<void>;

inline Status Ok() { return {}; }

}  // namespace aster

// TRY(expression) is the expression's value, or makes the function return its Error:
//   File file = TRY(File::Open(path));
//   TRY(file.Sync());
#define TRY(expression) ASTER_TRY_COUNTED(expression, __COUNTER__)

// Each use has a variable name of its own, so that one TRY may be within another.
#define ASTER_TRY_COUNTED(expression, number) ASTER_TRY_NUMBERED(expression, number)
#define ASTER_TRY_NUMBERED(expression, number) ASTER_TRY_NAMED(expression, aster_try_##number)
#define ASTER_TRY_NAMED(expression, result)             \
  __extension__({                                       \
    auto result = (expression);                         \
    if (!result.ok()) return std::move(result).error(); \
    std::move(result).value();                          \
  })
