// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "drafting/held_texts.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <numeric>

#include "disk/page_file.h"
#include "disk/session_folder.h"
#include "kv/prefix_hash.h"

namespace aster::drafting {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Hash128 kFingerprint{1, 2};
constexpr Hash128 kLayout{3, 4};

class HeldTextsTest : public testing::Test {
 protected:
  HeldTextsTest()
      : folder_(std::filesystem::path(testing::TempDir()) /
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~HeldTextsTest() override { std::filesystem::remove_all(folder_); }

  void Keep(const std::string& name, const Hash128& fingerprint, std::vector<int32_t> tokens) {
    disk::Session session;
    session.model.name = "nova";
    session.model.fingerprint = fingerprint;
    session.model.vocab_size = 1000;
    session.tokens = std::move(tokens);
    const auto path = disk::SessionFolder(folder_.string(), clock_).PathOf(name);
    auto writer = disk::SessionWriter::Create(path.value());
    ASSERT_TRUE(writer->Begin(session).ok());
    ASSERT_TRUE(writer->Commit().ok());
  }
  // Returns the prefix hash after the page.
  Hash128 KeepPage(const Hash128& layout, const Hash128& prefix, uint32_t begin,
                   std::vector<int32_t> tokens) {
    kv::KvChunkHeader header;
    header.digest = layout;
    header.layers = {0, 2};
    header.begin = begin;
    header.end = begin + static_cast<uint32_t>(tokens.size());
    header.reach = header.end;
    header.prefix_at_begin = prefix;
    header.prefix_at_end = kv::ExtendPrefixHash(prefix, tokens);
    header.tokens = std::move(tokens);
    const auto written = disk::WritePageFile(folder_.string(), header, {});
    EXPECT_TRUE(written.ok()) << (written.ok() ? "" : written.error().message());
    return header.prefix_at_end;
  }
  std::vector<int32_t> ProposedBehind(const std::vector<int32_t>& text) {
    TextIndex index;
    ReadHeldTexts({.sessions_folder = folder_.string(),
                   .pages_folder = folder_.string(),
                   .vocab_size = 1000,
                   .fingerprint = kFingerprint,
                   .layouts = {kLayout}},
                  clock_, index);
    std::vector<int32_t> drafts;
    index.Propose(text, 3, drafts);
    return drafts;
  }

  const std::filesystem::path folder_;
  SystemClock clock_;
};

TEST_F(HeldTextsTest, SessionsOfTheModelAreRead) {
  Keep("mine", kFingerprint, {1, 2, 3, 4, 5, 6});
  Keep("another-model", Hash128{9, 9}, {11, 12, 13, 14, 15, 16});
  Keep("no-tokens", kFingerprint, {21, 22, 23, 24, 25, 1000});
  EXPECT_THAT(ProposedBehind({1, 2, 3, 4}), ElementsAre(5, 6));
  EXPECT_THAT(ProposedBehind({11, 12, 13, 14}), IsEmpty());
  EXPECT_THAT(ProposedBehind({21, 22, 23, 24}), IsEmpty());
}

TEST_F(HeldTextsTest, PagesArePutTogether) {
  const Hash128 first = KeepPage(kLayout, kLayout, 0, {1, 2, 3, 4});
  KeepPage(kLayout, first, 4, {5, 6, 7, 8});
  KeepPage(kLayout, first, 4, {50, 60, 70, 80});
  KeepPage(Hash128{5, 6}, Hash128{5, 6}, 0, {11, 12, 13, 14, 15});
  EXPECT_THAT(ProposedBehind({3, 4, 5, 6}), ElementsAre(7, 8));
  EXPECT_THAT(ProposedBehind({3, 4, 50, 60}), ElementsAre(70, 80));
  EXPECT_THAT(ProposedBehind({11, 12, 13, 14}), IsEmpty());
}

TEST_F(HeldTextsTest, ReadAgainAndAgainInAThread) {
  Keep("mine", kFingerprint, {1, 2, 3, 4, 5, 6});
  auto index = std::make_shared<TextIndex>();
  VirtualClock clock;
  {
    HeldTextsOptions options;
    options.sessions_folder = folder_.string();
    options.vocab_size = 1000;
    options.fingerprint = kFingerprint;
    const HeldTextsReader reader(options, clock, index);
    clock.AwaitSleepers(1);
    EXPECT_GT(index->size(), 0u);
    const uint64_t size = index->size();
    Keep("newer", kFingerprint, {31, 32, 33, 34, 35});
    clock.AdvanceToNextDeadline();
    clock.AwaitSleepers(1);
    EXPECT_GT(index->size(), size);
  }
}

}  // namespace
}  // namespace aster::drafting
