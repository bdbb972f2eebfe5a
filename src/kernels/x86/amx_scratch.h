// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Scratch memory for products with tile registers, too large for a thread's stack. Plain
// declarations, so that kernel sources may include this. Must not know what is in it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aster::kernels {

// 768 KiB: leaves half of the second-level cache of the smallest processor with tile registers.
inline constexpr size_t kAmxScratchBytes = size_t{768} << 10;

// The calling thread's [kAmxScratchBytes], at a multiple of 64: allocated at the first call, freed
// when the thread ends.
uint8_t* AmxScratch();

}  // namespace aster::kernels
