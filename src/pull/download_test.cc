// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "pull/download.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "crypto/sha256.h"
#include "pull/http_for_test.h"

namespace aster::pull {
namespace {

using ::testing::HasSubstr;

constexpr const char* kUrl = "https://host/m.gguf";

// A clock on which sleeping takes no time and is counted.
class NoWait final : public Clock {
 public:
  int64_t NowNs() const override { return slept_ns; }
  int64_t WallNs() const override { return 0; }
  void SleepUntil(int64_t deadline_ns) override { slept_ns = std::max(slept_ns, deadline_ns); }
  bool WaitUntil(CondVar&, Mutex&, int64_t) override { return false; }

  int64_t slept_ns = 0;
};

class DownloadTest : public testing::Test {
 protected:
  DownloadTest() {
    for (int i = 0; i < 100; ++i) content_ += fmt::format("{:02} ", i);
    http_.files[kUrl].content = content_;
  }

  Status Run(RemoteFile file = {.url = kUrl, .name = "m.gguf"}) {
    return Download(http_, file, path_, clock_, options_);
  }
  RemoteFile Known() const {
    return {.url = kUrl,
            .name = "m.gguf",
            .size_bytes = content_.size(),
            .sha256 = crypto::ToHex(crypto::Sha256Of(AsBytes(content_)))};
  }
  std::string Got() const { return ReadFile(path_, 1 << 20).value(); }
  bool HasPart() const { return std::filesystem::exists(path_ + ".part"); }

  const TemporaryDirectory folder_ = TemporaryDirectory::Create().value();
  const std::string path_ = folder_.File("m.gguf");
  std::string content_;
  FakeHttp http_;
  NoWait clock_;
  DownloadOptions options_;
};

TEST_F(DownloadTest, BringsTheFileAndLeavesNothingElse) {
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Got(), content_);
  EXPECT_FALSE(HasPart());
  EXPECT_FALSE(std::filesystem::exists(path_ + ".part.tag"));
}

TEST_F(DownloadTest, GoesOnWhereTheConnectionBrokeTenTimes) {
  for (int i = 0; i < 10; ++i) http_.faults.push_back({.breaks_after = 20});
  ASSERT_TRUE(Run(Known()).ok());
  EXPECT_EQ(Got(), content_);
  EXPECT_EQ(http_.requests.size(), 11U);
  EXPECT_EQ(http_.requests.back().begin, 200U);
  EXPECT_EQ(http_.requests.back().if_range, "\"1\"");
}

TEST_F(DownloadTest, GoesOnInAnotherProcess) {
  options_.max_tries = 1;
  http_.faults = {{.breaks_after = 100}, {.status = 503}};
  EXPECT_EQ(Run().error().code(), Code::kUnavailable);
  EXPECT_TRUE(HasPart());
  http_.faults.clear();
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Got(), content_);
  EXPECT_EQ(http_.requests.back().begin, 100U);
}

TEST_F(DownloadTest, BeginsAgainWhereTheFileHasChanged) {
  options_.max_tries = 1;
  http_.faults = {{.breaks_after = 100}, {.status = 503}};
  ASSERT_FALSE(Run().ok());
  http_.faults.clear();
  http_.files[kUrl] = {.content = "another file", .tag = "\"2\""};
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Got(), "another file");
}

TEST_F(DownloadTest, BeginsAgainWhereTheServerSendsTheRestOfAnotherVersion) {
  options_.max_tries = 1;
  http_.faults = {{.breaks_after = 100}, {.status = 503}};
  ASSERT_FALSE(Run().ok());
  options_.max_tries = 6;
  http_.faults.clear();
  std::string other(content_.size(), '-');
  http_.files[kUrl] = {.content = other, .tag = "\"2\"", .ignores_if_range = true};
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Got(), other);
  EXPECT_EQ(http_.requests.back().begin, 0U);
}

TEST_F(DownloadTest, BeginsAgainWhereTheSizeHasChangedWithoutTags) {
  http_.files[kUrl].tag = "";
  http_.faults = {{.breaks_after = 100}};
  options_.on_note = [&](const std::string&) {
    http_.files[kUrl].content = "another file " + content_;
  };
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Got(), "another file " + content_);
}

TEST_F(DownloadTest, GoesOnWithoutTagsWhileTheSizeIsTheSame) {
  http_.files[kUrl].tag = "";
  for (int i = 0; i < 10; ++i) http_.faults.push_back({.breaks_after = 20});
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Got(), content_);
  EXPECT_EQ(http_.requests.back().begin, 200U);
}

TEST_F(DownloadTest, EndsWhereEveryReplyIsOfAnotherVersion) {
  http_.files[kUrl].ignores_if_range = true;
  options_.on_note = [&](const std::string&) { http_.files[kUrl].tag += "+"; };
  for (int i = 0; i < 100; ++i) http_.faults.push_back({.breaks_after = 20});
  EXPECT_EQ(Run().error().code(), Code::kAborted);
  EXPECT_LT(http_.requests.size(), 20U);
}

// A tag whose bytes are gone must not vouch for those of a version without a tag.
TEST_F(DownloadTest, ForgetsTheTagOfDiscardedBytes) {
  ASSERT_TRUE(WriteFileAtomically(path_ + ".part.tag", AsBytes("\"1\"")).ok());
  http_.files[kUrl].tag = "";
  options_.max_tries = 1;
  http_.faults = {{.breaks_after = 100}, {.status = 503}};
  ASSERT_FALSE(Run().ok());
  EXPECT_FALSE(std::filesystem::exists(path_ + ".part.tag"));
  http_.faults.clear();
  http_.files[kUrl] = {.content = "another file", .tag = "", .ignores_if_range = true};
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Got(), "another file");
}

TEST_F(DownloadTest, BeginsAgainWhereTheServerHasNoRanges) {
  http_.files[kUrl].has_ranges = false;
  http_.faults = {{.breaks_after = 100}};
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Got(), content_);
}

TEST_F(DownloadTest, BeginsAgainWhereMoreIsHereThanThere) {
  ASSERT_TRUE(WriteFileAtomically(path_ + ".part", AsBytes(content_ + "more")).ok());
  ASSERT_TRUE(WriteFileAtomically(path_ + ".part.tag", AsBytes("\"1\"")).ok());
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Got(), content_);
}

TEST_F(DownloadTest, TakesNothingMoreWhereAllIsHere) {
  ASSERT_TRUE(WriteFileAtomically(path_ + ".part", AsBytes(content_)).ok());
  ASSERT_TRUE(WriteFileAtomically(path_ + ".part.tag", AsBytes("\"1\"")).ok());
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Got(), content_);
}

TEST_F(DownloadTest, WaitsAsLongAsTheServerAsks) {
  http_.faults = {{.status = 429, .retry_after_s = 7}};
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(clock_.slept_ns, 7 * kNsPerSecond);
  EXPECT_EQ(Got(), content_);
}

TEST_F(DownloadTest, IsGivenUpAfterTriesThatBringNothing) {
  for (int i = 0; i < 100; ++i) http_.faults.push_back({.status = 503});
  const Status status = Run();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message(), HasSubstr("run the command again"));
  EXPECT_EQ(http_.requests.size(), options_.max_tries);
  EXPECT_EQ(clock_.slept_ns, (1 + 2 + 4 + 8 + 16) * kNsPerSecond);
}

TEST_F(DownloadTest, SaysWhatARefusalNeeds) {
  for (const auto& [status, words] :
       {std::pair(401, "HF_TOKEN"), {403, "HF_TOKEN"}, {404, "no such file"}, {418, "418"}}) {
    http_.faults = {{.status = status}};
    const Status refused = Run();
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message(), HasSubstr(words));
    EXPECT_EQ(http_.faults.size(), 0U);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(DownloadTest, TakesNoLongerFileThanWasAnnounced) {
  http_.faults = {{.announces = 10}};
  EXPECT_EQ(Run().error().code(), Code::kDataLoss);
  http_.faults = {{.more = "and more"}};
  EXPECT_EQ(Run(Known()).error().code(), Code::kDataLoss);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(DownloadTest, TakesNoShorterFileThanWasAnnounced) {
  http_.faults = {{.announces = content_.size() + 10}};
  // The connection broke; the second reply is complete.
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Got(), content_);
}

TEST_F(DownloadTest, TakesNoOtherRange) {
  http_.faults = {{.breaks_after = 100}, {.range_begin = 50}};
  EXPECT_EQ(Run().error().code(), Code::kDataLoss);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(DownloadTest, TakesNoBytesWithAnotherDigest) {
  RemoteFile file = Known();
  file.sha256[0] = file.sha256[0] == '0' ? '1' : '0';
  const Status status = Run(file);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kDataLoss);
  EXPECT_FALSE(std::filesystem::exists(path_));
  // The next run does not resume from these bytes.
  ASSERT_TRUE(Run(Known()).ok());
  EXPECT_EQ(http_.requests.back().begin, 0U);
}

TEST_F(DownloadTest, TakesNoBytesFromAnEarlierRunOfAnUnknownVersion) {
  ASSERT_TRUE(WriteFileAtomically(path_ + ".part", AsBytes("who knows")).ok());
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Got(), content_);
}

}  // namespace
}  // namespace aster::pull
