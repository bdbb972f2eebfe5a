// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Random operations on sequences, compared with the naive model: computing, rewinding, forking,
// adopting and transferring, with enough and with too little memory.
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/sanitized.h"
#include "kv/world_for_test.h"

namespace aster::kv {
namespace {

struct Lives {
  const char* name;
  Layout (*layout)();
  uint64_t budget_pages;
};

class Property : public testing::TestWithParam<Lives> {};

TEST_P(Property, EveryRowIsWhatItsHistoryMakesIt) {
  const Layout layout = GetParam().layout();
  size_t adopted = 0;
  size_t imported = 0;
  size_t evicted = 0;
  for (uint64_t seed = 0; seed < (kSanitized ? 15 : 60); ++seed) {
    Random random(seed);
    auto choose = [&](uint64_t bound) { return random.NextBelow(bound); };
    World world(layout, GetParam().budget_pages * kPageAlignment, choose);
    for (int step = 0; step < 150; ++step) world.Step();
    adopted += world.adopted();
    imported += world.imported();
    evicted += world.pool().usage().evicted_pages;
  }
  // All operations did occur.
  EXPECT_GT(adopted, 0u);
  EXPECT_GT(imported, 0u);
  EXPECT_TRUE(evicted > 0 || GetParam().budget_pages >= 1000);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, Property,
    testing::Values(Lives{"Plain", PlainLayout, 10'000}, Lives{"PlainTight", PlainLayout, 60},
                    Lives{"Window", WindowLayout, 10'000}, Lives{"WindowTight", WindowLayout, 24},
                    Lives{"Compressed", CompressedLayout, 10'000},
                    Lives{"CompressedTight", CompressedLayout, 60},
                    Lives{"Mixed", MixedLayout, 10'000}, Lives{"MixedTight", MixedLayout, 50}),
    [](const auto& lives) { return std::string(lives.param.name); });

}  // namespace
}  // namespace aster::kv
