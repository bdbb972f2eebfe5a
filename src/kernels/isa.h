// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The instruction sets that kernels are written for, and which of them this machine has. Every
// kernel gives the same bits on all of them, so the choice is one of speed only. Plain data: kernel
// sources compiled for one instruction set may include this. Must not know any kernel.
#pragma once

#include <cstdint>

namespace aster::kernels {

enum class Isa : uint8_t {
  kRef,      // plain C++, the specification; slow
  kAvx2,     // with FMA and F16C
  kAvxVnni,  // the same, and byte dot products: integer products only, otherwise as kAvx2
  kAvx512,   // F, BW, DQ, VL, VNNI, VBMI and GFNI: Ice Lake, Zen 4 and what came after them
  kAmx,      // the same, and tile registers: integer and bfloat16 products of many rows
  kNeon,     // 64-bit ARM with byte dot products
  kI8mm,     // the same, and matrix products of bytes: integer products only, otherwise as kNeon
};
inline constexpr int kIsaCount = 7;

}  // namespace aster::kernels
