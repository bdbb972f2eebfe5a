// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/parts/expert_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aster::model {
namespace {

using testing::ElementsAre;

TEST(ExpertUse, TheMostUsedOfEachLayer) {
  ExpertUse use(2, 8);
  // Nothing was counted yet.
  EXPECT_THAT(use.MostUsed(2), ElementsAre(2, 6, 2, 6));
  use.Add(0, std::vector<int32_t>{5, 1, 5, 7, 1, 5});
  EXPECT_THAT(use.MostUsed(2), ElementsAre(1, 5, 2, 6));
  EXPECT_THAT(use.MostUsed(1), ElementsAre(5, 4));
  EXPECT_EQ(use.MostUsed(9).size(), 16u);
  EXPECT_EQ(use.choices(), 6u);
}

TEST(ExpertUse, CountsAreWrittenAndRead) {
  ExpertUse use(2, 3);
  use.Add(0, std::vector<int32_t>{0, 2});
  use.Add(1, std::vector<int32_t>{1, 1});
  const std::string text = "experts chosen 2 3\n1 0 1\n0 2 0\n";
  EXPECT_EQ(use.ToText(), text);
  const auto read = ExpertUse::Parse(text).value();
  EXPECT_EQ(read->layers(), 2u);
  EXPECT_EQ(read->choices(), 4u);
  EXPECT_EQ(read->ToText(), text);
  for (const char* bad :
       {"", "experts chosen", "experts chosen ", "experts chosen 2", "experts chosen 2 3\n",
        "experts chosen 2 3\n1 0 1\n0 2\n", "experts chosen 2 3\n1 0 1\n0 2 x\n",
        "experts chosen 2 3\n1 0 1\n0 -2 0\n", "experts chosen 2 3\n1 0 1\n0 2 0",
        "experts chosen 0 0\n", "experts chosen 4294967296 4294967296\n"})
    EXPECT_FALSE(ExpertUse::Parse(bad).ok()) << bad;
}

}  // namespace
}  // namespace aster::model
