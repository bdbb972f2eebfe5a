// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Limits of this process: how many files it may have open, and whether others may read its memory.
// Must not know what they are for.
#pragma once

#include <cstdint>

namespace aster {

// Raises the limit of open files to `wanted`, as far as the system allows. Returns the new limit.
uint64_t RaiseOpenFiles(uint64_t wanted);

// For a process with private keys: from now on its memory is in no core dump, and no debugger of
// the same user may attach. Permanent.
void ForbidCoreDumps();

}  // namespace aster
