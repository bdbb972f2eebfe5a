// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "wire/payload.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "base/random.h"

namespace aster::wire {
namespace {

TEST(Payload, PiecesOfAllSizesNeverOverlap) {
  // Many at once, freed and allocated again, each filled with its own number.
  Random random(1);
  std::map<int, Payload> pieces;
  for (int i = 0; i < 600; ++i) {
    if (pieces.size() > 20 || (!pieces.empty() && random.NextBelow(3) == 0)) {
      const auto place =
          std::next(pieces.begin(), static_cast<ptrdiff_t>(random.NextBelow(pieces.size())));
      for (size_t k = 0; k < place->second.size(); k += 511) {
        ASSERT_EQ(place->second[k], static_cast<uint8_t>(place->first));
      }
      pieces.erase(place);
      continue;
    }
    // Around the sizes where the rounding step changes.
    const size_t around = size_t{1} << (12 + random.NextBelow(7));
    Payload piece(around + random.NextBelow(around + 3) - random.NextBelow(3));
    std::memset(piece.data(), i, piece.size());
    pieces.emplace(i, std::move(piece));
  }
}

TEST(Payload, GrowsAndShrinksAsAVectorDoes) {
  Payload payload;
  for (size_t i = 0; i < 150'000; ++i) payload.push_back(static_cast<uint8_t>(i * 7));
  payload.resize(100'000);
  payload.shrink_to_fit();
  const Payload copy = payload;
  for (size_t i = 0; i < copy.size(); ++i) ASSERT_EQ(copy[i], static_cast<uint8_t>(i * 7));
  payload.clear();
  payload.shrink_to_fit();
  EXPECT_TRUE(payload.empty());
}

}  // namespace
}  // namespace aster::wire
