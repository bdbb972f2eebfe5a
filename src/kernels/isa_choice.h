// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Picks an instruction set by name or by what the machine has. Must not know any kernel.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "kernels/isa.h"

namespace aster::kernels {

// "ref", "avx2", "avxvnni", "avx512", "neon".
std::string_view IsaName(Isa isa);

// What this machine can run, the slowest (always kRef) first.
std::span<const Isa> AvailableIsas();

inline Isa FastestIsa() { return AvailableIsas().back(); }

// The instruction set of that name; an error, naming those that there are, where no such name
// exists or this machine lacks it.
Result<Isa> IsaFromName(std::string_view name);

// What the environment variable ASTER_ISA names, else the fastest. A program asks once, at its
// start, and passes the answer on.
Result<Isa> IsaFromEnvironment();

}  // namespace aster::kernels
