// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The processor time of a thread. Must not know what it does.
#pragma once

#include <cstdint>

namespace aster {

// The calling thread's, since its start. The rest of the elapsed time it slept, or others had its
// core.
int64_t CoreTimeOfThisThreadNs();

}  // namespace aster
