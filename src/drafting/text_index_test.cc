// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "drafting/text_index.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "draft/proposers.h"
#include "engine/request.h"

namespace aster::drafting {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int32_t> Numbers(int32_t first, size_t count) {
  std::vector<int32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

std::vector<int32_t> Propose(const TextIndex& index, const std::vector<int32_t>& text,
                             uint32_t most = 3) {
  std::vector<int32_t> drafts;
  index.Propose(text, most, drafts);
  return drafts;
}

TEST(TextIndex, TheContinuationInAnyTextIsProposed) {
  TextIndex index;
  index.Add(Numbers(100, 50));
  index.Add(Numbers(200, 50));
  EXPECT_THAT(Propose(index, {1, 110, 111, 112, 113}), ElementsAre(114, 115, 116));
  EXPECT_THAT(Propose(index, {1, 220, 221, 222, 223}), ElementsAre(224, 225, 226));
  EXPECT_THAT(Propose(index, {220, 221, 222}), IsEmpty());              // too few
  EXPECT_THAT(Propose(index, {1, 2, 3, 4, 5}), IsEmpty());              // nowhere
  EXPECT_THAT(Propose(index, {145, 146, 147, 148}), ElementsAre(149));  // where the text ends
  EXPECT_THAT(Propose(index, {146, 147, 148, 149}), IsEmpty());
}

TEST(TextIndex, TheLongestMatchDecides) {
  TextIndex index;
  index.Add(std::vector<int32_t>{1, 2, 3, 4, 5, 6, 7, 8, 70});
  index.Add(std::vector<int32_t>{9, 9, 9, 9, 5, 6, 7, 8, 80});
  EXPECT_THAT(Propose(index, {1, 2, 3, 4, 5, 6, 7, 8}, 1), ElementsAre(70));
  EXPECT_THAT(Propose(index, {0, 0, 0, 0, 5, 6, 7, 8}, 1), ElementsAre(80));
}

TEST(TextIndex, TextsThatBeginAlikeAreKeptOnce) {
  TextIndex index;
  const std::vector<int32_t> text = Numbers(0, 4 * TextIndex::kPiece);
  index.Add(text);
  const uint64_t size = index.size();
  index.Add(text);
  EXPECT_EQ(index.size(), size);
  std::vector<int32_t> longer = text;
  longer.insert(longer.end(), {900, 901, 902});
  index.Add(longer);
  EXPECT_LT(index.size(), size + 16);
  EXPECT_THAT(Propose(index, {text.end() - 5, text.end()}), ElementsAre(900, 901, 902));
}

TEST(TextIndex, TheOldestAreForgotten) {
  TextIndex index({.max_tokens = 256});
  index.Add(Numbers(0, 100));
  for (int32_t i = 1; i < 10; ++i) index.Add(Numbers(1000 * i, 100));
  EXPECT_EQ(index.size(), 256u);
  EXPECT_THAT(Propose(index, {10, 11, 12, 13}), IsEmpty());
  // Nearly all kept texts are found.
  int found = 0;
  for (int32_t token = 9000; token < 9090; ++token) {
    const auto drafts = Propose(index, {token, token + 1, token + 2, token + 3}, 1);
    if (drafts.empty()) continue;
    EXPECT_THAT(drafts, ElementsAre(token + 4));
    ++found;
  }
  EXPECT_GT(found, 80);
}

// All proposed tokens followed the text's last tokens in some kept text.
TEST(TextIndex, ProposesNothingForUnknownTokens) {
  Random random(1);
  TextIndex index({.max_tokens = 1024});
  std::vector<std::vector<int32_t>> texts;
  for (int i = 0; i < 200; ++i) {
    std::vector<int32_t> text(random.NextBelow(150));
    for (int32_t& token : text) token = static_cast<int32_t>(random.NextBelow(3));
    index.Add(text);
    texts.push_back(text);
    std::vector<int32_t> asked(8);
    for (int32_t& token : asked) token = static_cast<int32_t>(random.NextBelow(3));
    const auto drafts = Propose(index, asked, 4);
    if (drafts.empty()) continue;
    std::vector<int32_t> whole(asked.end() - 4, asked.end());
    whole.insert(whole.end(), drafts.begin(), drafts.end());
    EXPECT_TRUE(std::ranges::any_of(texts, [&](const std::vector<int32_t>& known) {
      return !std::ranges::search(known, whole).empty();
    }));
  }
}

TEST(TextIndex, TheTextItselfGoesFirst) {
  auto index = std::make_shared<TextIndex>();
  index->Add(std::vector<int32_t>{1, 2, 3, 4, 50});
  index->Add(std::vector<int32_t>{6, 7, 8, 9, 60});
  IndexSource source(std::make_unique<draft::Proposers>(nullptr), index);
  engine::Request request;
  request.draft = {.kind = engine::DraftKind::kNgram, .most = 1};
  const auto propose = [&](const std::vector<int32_t>& text) {
    auto proposer = source.Make(request).value();
    std::vector<int32_t> drafts;
    EXPECT_TRUE(proposer->Propose(text, 1, drafts).ok());
    return drafts;
  };
  EXPECT_THAT(propose({1, 2, 3, 4, 99, 1, 2, 3, 4}), ElementsAre(99));
  EXPECT_THAT(propose({0, 6, 7, 8, 9}), ElementsAre(60));
}

}  // namespace
}  // namespace aster::drafting
