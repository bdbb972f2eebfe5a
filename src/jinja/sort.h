// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Sorts values as Python's sorted() does: stable, and with an error for values without an order.
#pragma once

#include <vector>

#include "jinja/runtime.h"

namespace aster::jinja {

struct Keyed {
  Value key;
  Value item;
};

// Equal keys keep their order, also in reverse.
Status SortByKey(Runtime& runtime, std::vector<Keyed>& entries, bool reverse);

}  // namespace aster::jinja
