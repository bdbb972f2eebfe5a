// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How long a thread has had a core. Must not know what it does there.
#pragma once

#include <cstdint>

namespace aster {

// Of the calling thread, since it began. What the clock says more than this was spent asleep, or
// others had its core.
int64_t CoreTimeOfThisThreadNs();

}  // namespace aster
