// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Texts that may say anything but some marks, so that what follows a mark can be told from them.
// Must not know tokens.
#pragma once

#include <span>
#include <string>

#include "grammar/grammar.h"

namespace aster::grammar {

// Any bytes, also none, in which no mark stands; `without` are bytes that do not stand there
// either. Marks are not empty.
Element TextWithout(std::span<const std::string> marks, const ByteSet& without, Grammar& grammar);

}  // namespace aster::grammar
