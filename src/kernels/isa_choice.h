// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Picks an instruction set by name or by what the machine has. Must not know any kernel.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "kernels/isa.h"

namespace aster::kernels {

// "ref", "avx2", "avxvnni", "avx512", "amx", "neon", "i8mm".
std::string_view IsaName(Isa isa);

// What this machine can run, the slowest (always kRef) first. Where there are tile registers, the
// first call asks the system for them.
std::span<const Isa> AvailableIsas();

// The last of those that computes what we know it should: tile registers are tried once, and a
// warning says so where they are not used.
Isa FastestIsa();

// The instruction set of that name; an error, naming those that there are, where no such name
// exists or this machine lacks it.
Result<Isa> IsaFromName(std::string_view name);

// What the environment variable ASTER_ISA names, else the fastest. A program asks once, at its
// start, and passes the answer on.
Result<Isa> IsaFromEnvironment();

}  // namespace aster::kernels
