// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace aster {

void CheckFailed(const char* file, int line, const char* condition, std::string_view note) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s%s%.*s\n", file, line, condition,
               note.empty() ? "" : ": ", static_cast<int>(note.size()), note.data());
  std::abort();
}

}  // namespace aster
