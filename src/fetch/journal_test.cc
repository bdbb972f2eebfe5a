// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "fetch/journal.h"

#include <gtest/gtest.h>

namespace aster::fetch {
namespace {

constexpr Hash128 kManifest{1, 2};
const std::vector<std::vector<uint64_t>> kSizes = {{100, 200}, {}, {300}};

Journal Example() {
  return {.tensors = {{{40, false}, {200, true}}, {}, {{}}},
          .stamps = {FileStamp{7, 1000, -5}, std::nullopt, std::nullopt}};
}

TEST(Journal, IsReadAsItWasWritten) {
  const std::string text = FormatJournal(Example(), kManifest);
  EXPECT_EQ(ParseJournal(text, kManifest, kSizes), Example());
  // The last line about a tensor counts.
  Journal later = Example();
  later.tensors[0][0] = {100, true};
  EXPECT_EQ(ParseJournal(text + TensorLine(0, 0, {100, true}), kManifest, kSizes), later);
}

TEST(Journal, OfAnotherManifestIsNone) {
  const std::string text = FormatJournal(Example(), kManifest);
  const Journal none = ParseJournal("", kManifest, kSizes);
  EXPECT_EQ(ParseJournal(text, Hash128{1, 3}, kSizes), none);
  EXPECT_EQ(none.tensors[0][1], TensorState{});
}

TEST(Journal, CutAnywhereItSaysLessAndNothingElse) {
  const std::string text = FormatJournal(Example(), kManifest);
  for (size_t cut = 0; cut < text.size(); ++cut) {
    const Journal journal = ParseJournal(text.substr(0, cut), kManifest, kSizes);
    for (size_t file = 0; file < kSizes.size(); ++file) {
      for (size_t i = 0; i < kSizes[file].size(); ++i) {
        const TensorState& state = journal.tensors[file][i];
        EXPECT_TRUE(state == TensorState{} || state == Example().tensors[file][i]);
      }
    }
  }
}

TEST(Journal, WhatCannotBeIsNotBelieved) {
  const std::string first = FormatJournal(ParseJournal("", kManifest, kSizes), kManifest);
  const Journal none = ParseJournal("", kManifest, kSizes);
  for (const std::string& line :
       {TensorLine(0, 0, {101, false}), TensorLine(0, 0, {99, true}), TensorLine(0, 2, {1, false}),
        TensorLine(3, 0, {1, false}), StampLine(3, {}), TensorLine(1, 0, {})}) {
    EXPECT_EQ(ParseJournal(first + line, kManifest, kSizes), none) << line;
  }
  std::string damaged = FormatJournal(Example(), kManifest);
  damaged[damaged.find("has 0 0 40") + 8] = '5';
  EXPECT_EQ(ParseJournal(damaged, kManifest, kSizes), none);
}

}  // namespace
}  // namespace aster::fetch
