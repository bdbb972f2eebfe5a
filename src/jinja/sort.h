// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Sorting values as Python's sorted() does: stable, and an error for what has no order.
#pragma once

#include <vector>

#include "jinja/runtime.h"

namespace aster::jinja {

struct Keyed {
  Value key;
  Value item;
};

// Equal keys keep their order, in reverse too.
Status SortByKey(Runtime& runtime, std::vector<Keyed>& entries, bool reverse);

}  // namespace aster::jinja
