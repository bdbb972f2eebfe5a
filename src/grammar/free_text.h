// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Free text without certain marks, so that a mark ends it. Must not know tokens.
#pragma once

#include <span>
#include <string>

#include "grammar/grammar.h"

namespace aster::grammar {

// Any bytes, also none, without marks and without the bytes in `without`. Marks are not empty.
Element TextWithout(std::span<const std::string> marks, const ByteSet& without, Grammar& grammar);

}  // namespace aster::grammar
