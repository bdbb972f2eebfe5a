// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Chooses an instruction set, by name or by what the machine has. Must not know any kernel.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "kernels/isa.h"

namespace aster::kernels {

// "ref", "avx2", "avxvnni", "avx512", "amx", "neon", "i8mm".
std::string_view IsaName(Isa isa);

// What this machine can run, the slowest (always kRef) first. If it has tile registers, the first
// call asks the system for them.
std::span<const Isa> AvailableIsas();

// The last one that computes correctly. Tile registers are checked once; warns if they fail.
Isa FastestIsa();

// The instruction set of that name. An error, which lists all names, if there is none or if this
// machine lacks it.
Result<Isa> IsaFromName(std::string_view name);

// By the environment variable ASTER_ISA, else the fastest. A program calls it once, at its start,
// and passes the result on.
Result<Isa> IsaFromEnvironment();

}  // namespace aster::kernels
