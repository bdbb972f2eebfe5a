// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/content_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace aster::gguf {
namespace {

TEST(ContentHasher, HashesPiecesLikeTheWhole) {
  std::vector<uint8_t> data(2 * kHashChunkBytes + 12345);
  uint32_t state = 1;
  for (uint8_t& byte : data) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<uint8_t>(state >> 24);
  }
  for (const size_t size : {size_t{0}, size_t{1}, kHashChunkBytes - 1, kHashChunkBytes,
                            kHashChunkBytes + 1, 2 * kHashChunkBytes, data.size()}) {
    const Bytes whole = Bytes(data).first(size);
    for (const size_t piece_bytes : {size_t{1000003}, kHashChunkBytes, data.size()}) {
      ContentHasher hasher;
      for (size_t i = 0; i < size; i += piece_bytes) {
        hasher.Add(whole.subspan(i, std::min(piece_bytes, size - i)));
      }
      EXPECT_EQ(hasher.Finish(), ContentHashOf(whole)) << size << " in " << piece_bytes;
    }
  }
}

}  // namespace
}  // namespace aster::gguf
