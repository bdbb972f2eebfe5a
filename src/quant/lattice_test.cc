// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/lattice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace aster::quant {
namespace {

// Unpacking gives zeros if a map has the wrong number of points, so this also counts them.
template <typename Grid>
void ExpectStrictlyAscending(const Grid& grid) {
  const auto less = [](const auto& a, const auto& b) {
    return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  };
  for (size_t i = 1; i < grid.size(); ++i) EXPECT_TRUE(less(grid[i - 1], grid[i])) << i;
}

TEST(Lattice, PointsAreNumberedInOrder) {
  ExpectStrictlyAscending(kIq2XxsGrid);
  ExpectStrictlyAscending(kIq2XsGrid);
  ExpectStrictlyAscending(kIq2SGrid);
  ExpectStrictlyAscending(kIq3XxsGrid);
  ExpectStrictlyAscending(kIq3SGrid);
  ExpectStrictlyAscending(kIq1Grid);
}

TEST(Lattice, TwoBitPointsHaveAnEvenNumberOfMiddleLevels) {
  const auto expect_even = [](const auto& grid) {
    for (const Point8& point : grid) {
      EXPECT_EQ(std::count(point.begin(), point.end(), 25) % 2, 0);
      for (const int8_t level : point) EXPECT_TRUE(level == 8 || level == 25 || level == 43);
    }
  };
  expect_even(kIq2XxsGrid);
  expect_even(kIq2XsGrid);
  expect_even(kIq2SGrid);
}

// A few published points, to fix the levels and the order of the coordinates.
TEST(Lattice, KnownPoints) {
  EXPECT_EQ(kIq2XxsGrid[0], (Point8{8, 8, 8, 8, 8, 8, 8, 8}));
  EXPECT_EQ(kIq2XxsGrid[1], (Point8{43, 8, 8, 8, 8, 8, 8, 8}));
  EXPECT_EQ(kIq2XxsGrid[255], (Point8{8, 25, 8, 8, 25, 43, 43, 43}));
  EXPECT_EQ(kIq3XxsGrid[1], (Point4{20, 4, 4, 4}));
  EXPECT_EQ(kIq3SGrid[511], (Point4{1, 1, 15, 15}));
}

TEST(Lattice, SignsAreCompletedToAnEvenNumber) {
  for (uint32_t seven = 0; seven < 128; ++seven) {
    EXPECT_EQ(EvenSigns(seven) & 127, seven);
    EXPECT_EQ(std::popcount(EvenSigns(seven)) % 2, 0);
  }
}

}  // namespace
}  // namespace aster::quant
