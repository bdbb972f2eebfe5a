// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/expert_uses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace aster::stage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Hash128 kModel{1, 2};

model::Shape TwoLayers() {
  model::Shape shape;
  shape.layer_count = 2;
  shape.experts.count = 4;
  return shape;
}

TEST(ExpertUses, AreKeptFromRunToRun) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  {
    ExpertUses uses(folder.path());
    EXPECT_THAT(uses.Replicated(kModel, 1), IsEmpty());
    const auto use = uses.Of(kModel, TwoLayers());
    EXPECT_EQ(uses.Of(kModel, TwoLayers()), use);
    use->Add(0, std::vector<int32_t>{3, 3, 0});
    // The reply of a process stays the same.
    EXPECT_THAT(uses.Replicated(kModel, 1), IsEmpty());
    EXPECT_THAT(uses.Replicated(kModel, 2), ElementsAre(0, 3, 1, 3));
  }
  ExpertUses uses(folder.path());
  EXPECT_THAT(uses.Replicated(kModel, 1), ElementsAre(3, 2));
  EXPECT_EQ(uses.Of(kModel, TwoLayers())->choices(), 3u);
  EXPECT_THAT(uses.Replicated(Hash128{1, 3}, 1), IsEmpty());
}

TEST(ExpertUses, ADamagedFileIsAsNone) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  ExpertUses(folder.path()).Of(kModel, TwoLayers())->Add(1, std::vector<int32_t>{1});
  const std::string path = folder.File(kModel.ToHex() + ".experts");
  EXPECT_EQ(ReadFile(path, 1000).value(), "experts chosen 2 4\n0 0 0 0\n0 1 0 0\n");
  ASSERT_TRUE(WriteFileAtomically(path, AsBytes("experts chosen 2 4\n0 0 0")).ok());
  ExpertUses uses(folder.path());
  EXPECT_THAT(uses.Replicated(kModel, 1), IsEmpty());
  EXPECT_EQ(uses.Of(kModel, TwoLayers())->choices(), 0u);
}

}  // namespace
}  // namespace aster::stage
