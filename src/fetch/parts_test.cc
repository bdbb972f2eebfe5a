// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "fetch/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fetch/fetch_for_test.h"

namespace aster::fetch {
namespace {

using testing::HasSubstr;

const Hash128& WholeModel() { return SourceModel::Get().fingerprint(); }

TEST(Parts, MakeUpTheWholeInAnyOrder) {
  const Halves halves;
  const Part& low = halves.low().part;
  const Part& high = halves.high().part;
  const Part& other = halves.high_of_other().part;
  for (const auto& parts : {std::vector{&low, &high}, std::vector{&high, &low},
                            std::vector{&other, &low, &high}, std::vector{&low, &other, &high}}) {
    const auto whole = FindWhole(WholeModel(), parts);
    ASSERT_TRUE(whole);
    EXPECT_TRUE(CheckManifest(*whole, WholeModel()).ok());
    EXPECT_EQ(whole->files.size(), 2u);
  }
}

TEST(Parts, OfAnotherModelAndWithGapsMakeUpNothing) {
  const Halves halves;
  const Part& low = halves.low().part;
  const Part& other = halves.high_of_other().part;
  EXPECT_FALSE(FindWhole(WholeModel(), {}));
  EXPECT_FALSE(FindWhole(WholeModel(), std::vector{&low}));
  EXPECT_FALSE(FindWhole(WholeModel(), std::vector{&other}));
  EXPECT_FALSE(FindWhole(WholeModel(), std::vector{&low, &other}));
  Part elsewhere = halves.high().part;
  elsewhere.description.architecture = "llama";
  const Part* const apart = &elsewhere;
  EXPECT_FALSE(FindWhole(WholeModel(), std::vector{&low, apart}));
}

TEST(Parts, ManyThatLookAlikeAreNotTriedForEver) {
  const Halves halves;
  const Part& low = halves.low().part;
  Part short_of_it = halves.high_of_other().part;
  short_of_it.description.layers = {{1, 3}};
  const Part* const gap = &short_of_it;
  const std::vector<const Part*> parts(2000, gap);
  std::vector<const Part*> all = {&low};
  all.insert(all.end(), parts.begin(), parts.end());
  EXPECT_FALSE(FindWhole(WholeModel(), all));
}

TEST(Parts, BelongToTheWholeByTheirContents) {
  const Halves halves;
  const rpc::ModelManifest& whole = SourceModel::Get().manifest();
  EXPECT_TRUE(IsPartOf(halves.low().part.manifest, whole));
  EXPECT_TRUE(IsPartOf(halves.high().part.manifest, whole));
  EXPECT_TRUE(IsPartOf(whole, whole));
  EXPECT_FALSE(IsPartOf(halves.high_of_other().part.manifest, whole));
  EXPECT_FALSE(IsPartOf(whole, halves.low().part.manifest));
}

TEST(Parts, SayWhatTheyHold) {
  cluster::HeldModel held = Halves().low().part.description;
  EXPECT_EQ(LayersText(held), "layers 0-1 of 4");
  held.layers = {{0, 1}, {2, 4}};
  EXPECT_EQ(LayersText(held), "layers 0-0, 2-3 of 4");
  held.layers = {};
  EXPECT_EQ(LayersText(held), "layers none of 4");
  held.layers = {{0, 4}};
  held.head = true;
  EXPECT_EQ(LayersText(held), "4 layers");
}

TEST(JoinManifests, SaysWhyPartsAreNotOfOneModel) {
  const Halves halves;
  const rpc::ModelManifest& high = halves.high().part.manifest;
  const rpc::ModelManifest& other = halves.high_of_other().part.manifest;
  EXPECT_EQ(JoinManifests(std::vector{&halves.low().part.manifest, &high})->fingerprint,
            WholeModel());
  const auto mixed = JoinManifests(std::vector{&high, &other});
  ASSERT_FALSE(mixed.ok());
  EXPECT_THAT(mixed.error().message(), HasSubstr("high.gguf and other.gguf are not of one model"));
}

}  // namespace
}  // namespace aster::fetch
