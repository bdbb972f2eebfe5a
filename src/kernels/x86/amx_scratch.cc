// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/x86/amx_scratch.h"

#include <memory>

namespace aster::kernels {
namespace {

struct alignas(64) Scratch {
  uint8_t bytes[kAmxScratchBytes];
};

}  // namespace

uint8_t* AmxScratch() {
  static thread_local const auto scratch = std::make_unique_for_overwrite<Scratch>();
  return scratch->bytes;
}

}  // namespace aster::kernels
