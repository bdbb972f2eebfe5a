// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What the system lets this process do: how many files it may have open, and whether others may see
// its memory. Must not know what it is for.
#pragma once

#include <cstdint>

namespace aster {

// Raises the limit of open files to `wanted`, as far as the system allows. The limit afterwards.
uint64_t RaiseOpenFiles(uint64_t wanted);

// For a process that holds private keys: from now on its memory is in no core dump, and no debugger
// of the same user may attach. For as long as the process lives.
void ForbidCoreDumps();

}  // namespace aster
