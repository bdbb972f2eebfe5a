// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The instructions that this processor and its operating system support. Which of them are worth
// using, the kernels decide.
#pragma once

#include <string>

namespace aster {

// A feature is present only if the processor has it and the system saves its registers.
struct CpuFeatures {
  // x86-64
  bool sse42 = false;
  bool avx = false;
  bool f16c = false;
  bool fma = false;
  bool avx2 = false;
  bool avx_vnni = false;
  bool avx512f = false;
  bool avx512bw = false;
  bool avx512vl = false;
  bool avx512dq = false;
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool avx512_fp16 = false;
  bool amx_tile = false;  // usable after AllowAmx()
  bool amx_int8 = false;
  bool amx_bf16 = false;
  // arm64
  bool neon = false;
  bool dotprod = false;
  bool i8mm = false;
  bool bf16 = false;
  bool sve = false;

  // The names of the features that are present, separated by spaces.
  std::string ToString() const;
};

CpuFeatures DetectCpuFeatures();

// Asks the system to let this process, threads started later included, use the tile registers.
// False if it refuses or there are none.
bool AllowAmx();

}  // namespace aster
