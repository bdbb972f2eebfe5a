// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The bytes choose operations on a world of sequences, which is compared with a naive model.
#include "kv/world_for_test.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const aster::kv::Layout kLayouts[] = {aster::kv::PlainLayout(), aster::kv::WindowLayout(),
                                               aster::kv::CompressedLayout()};
  constexpr size_t kMaxSteps = 48;
  aster::Bytes left(data, size);
  auto choose = [&](uint64_t bound) -> uint64_t {
    if (left.empty()) return 0;
    const uint8_t byte = left.front();
    left = left.subspan(1);
    return byte % bound;
  };
  const aster::kv::Layout& layout = kLayouts[choose(3)];
  const uint64_t budget_pages = 10 + choose(120);
  aster::kv::World world(layout, budget_pages * aster::kv::kPageAlignment, choose);
  for (size_t step = 0; step < kMaxSteps && !left.empty(); ++step) world.Step();
  return 0;
}
