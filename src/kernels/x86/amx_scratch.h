// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The memory that products with tile registers work in, too large for a thread's stack. Plain
// declarations, so that kernel sources may include this. Must not know what lies in it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aster::kernels {

// 768 KiB: half of the second-level cache of the smallest processor with tile registers is left.
inline constexpr size_t kAmxScratchBytes = size_t{768} << 10;

// The calling thread's [kAmxScratchBytes], at a multiple of 64: made when it is first asked for,
// freed when the thread ends.
uint8_t* AmxScratch();

}  // namespace aster::kernels
