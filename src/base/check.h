// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Checks for programmer mistakes. They abort, so no input, file or peer may ever reach one:
// operations that can fail for reasons outside the program return a Result instead (result.h).
#pragma once

#include <string_view>

namespace aster {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              std::string_view note);

}  // namespace aster

// Always on. Keep the condition cheap.
#define CHECK(condition) CHECK_NOTE(condition, "")

#define CHECK_NOTE(condition, note)                  \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? void()                                      \
       : ::aster::CheckFailed(__FILE__, __LINE__, #condition, (note)))

// For conditions too costly for a release build.
#ifdef NDEBUG
#define DCHECK(condition) \
  do {                    \
  } while (false && (condition))
#else
#define DCHECK(condition) CHECK(condition)
#endif
