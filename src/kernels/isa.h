// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The instruction sets that have kernels. Every kernel gives the same bits on all of them; only the
// speed differs. Plain data: kernel sources compiled for one instruction set may include this. Must
// not know any kernel.
#pragma once

#include <cstdint>

namespace aster::kernels {

enum class Isa : uint8_t {
  kRef,      // plain C++, the specification; slow
  kAvx2,     // with FMA and F16C
  kAvxVnni,  // kAvx2 with byte dot products; differs in integer products only
  kAvx512,   // F, BW, DQ, VL, VNNI, VBMI and GFNI: Ice Lake, Zen 4 and later
  kAmx,      // kAvx512 with tile registers: integer and bfloat16 products of many rows
  kNeon,     // 64-bit ARM with byte dot products
  kI8mm,     // kNeon with matrix products of bytes; differs in integer products only
};
inline constexpr int kIsaCount = 7;

}  // namespace aster::kernels
