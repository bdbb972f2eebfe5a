// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Arithmetic on sizes from files and peers: the result, or nullopt if it would overflow.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>

namespace aster {

template <std::unsigned_integral T>
constexpr std::optional<T> CheckedAdd(T a, T b) {
  T sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

template <std::unsigned_integral T>
constexpr std::optional<T> CheckedMul(T a, T b) {
  T product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// value rounded up to a multiple of alignment (not zero).
template <std::unsigned_integral T>
constexpr std::optional<T> CheckedRoundUp(T value, T alignment) {
  const T remainder = value % alignment;
  return remainder == 0 ? std::optional<T>(value) : CheckedAdd<T>(value, alignment - remainder);
}

// value in a narrower (or differently signed) integer type, if it fits.
template <std::integral To, std::integral From>
constexpr std::optional<To> CheckedCast(From value) {
  if (!std::in_range<To>(value)) return std::nullopt;
  return static_cast<To>(value);
}

constexpr size_t DivideUp(size_t a, size_t b) { return a / b + (a % b != 0); }

}  // namespace aster
