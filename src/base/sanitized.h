// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether a sanitizer is on: programs are many times slower then, and tests do less.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define ASTER_CHECKS_ADDRESSES
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASTER_CHECKS_ADDRESSES
#endif
#endif
#ifdef ASTER_CHECKS_ADDRESSES
#include <sanitizer/asan_interface.h>
#endif

namespace aster {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

// For code whose own accesses are not checked: where addresses are, all of these bytes must be
// accessible.
inline void CheckAccess([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#ifdef ASTER_CHECKS_ADDRESSES
  const void* wrong = __asan_region_is_poisoned(const_cast<void*>(begin), bytes);
  if (wrong != nullptr) static_cast<void>(*static_cast<const volatile char*>(wrong));
#endif
}

}  // namespace aster
