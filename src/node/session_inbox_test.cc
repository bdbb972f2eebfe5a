// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/session_inbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/files.h"
#include "base/hash.h"

namespace aster::node {
namespace {

using testing::HasSubstr;

class SessionInboxTest : public testing::Test {
 protected:
  SessionInboxTest() {
    disk::Session session;
    session.model.name = "m";
    session.messages = {{"user", "hello"}, {"assistant", std::string(5000, 'x')}};
    session.tokens = {1, 2, 3};
    auto writer = disk::SessionWriter::Create(holder_.File("s")).value();
    CHECK(writer.Begin(session).ok() && writer.Commit().ok());
    const std::string text = ReadFile(holder_.File("s"), 1 << 20).value();
    file_.assign(text.begin(), text.end());
  }

  rpc::SessionPart Part(uint64_t offset, size_t size, bool is_last = false) const {
    rpc::SessionPart part;
    part.content = Hash128Of(file_);
    part.name = "talk";
    part.total_bytes = file_.size();
    part.offset = offset;
    part.data.assign(file_.begin() + static_cast<ptrdiff_t>(offset),
                     file_.begin() + static_cast<ptrdiff_t>(std::min(offset + size, file_.size())));
    part.is_last = is_last;
    part.transfer = Hash128{3, 4};
    return part;
  }
  std::string WhyNot(const rpc::SessionPart& part) {
    const auto taken = inbox_.Take(from_, part);
    return taken.ok() ? "" : taken.error().message();
  }
  size_t FileCount() const {
    size_t count = 0;
    for (const auto& item : std::filesystem::directory_iterator(folder_)) {
      count += item.is_regular_file() && item.path().filename() != ".lock";
    }
    return count;
  }

  const TemporaryDirectory holder_ = TemporaryDirectory::Create().value();
  const std::string folder_ = holder_.File("sessions");
  const rpc::NodeId from_{Hash128{1, 2}};
  SystemClock clock_;
  SessionInbox inbox_{folder_, clock_};
  std::vector<uint8_t> file_;
};

TEST_F(SessionInboxTest, TakesPartsInTheirOrderAndKeepsTheWhole) {
  EXPECT_EQ(inbox_.Take(from_, Part(0, 1000)).value().received_bytes, 1000u);
  // A repeated or early part: the reply says where to continue.
  EXPECT_EQ(inbox_.Take(from_, Part(0, 1000)).value().received_bytes, 1000u);
  EXPECT_EQ(inbox_.Take(from_, Part(3000, 1000)).value().received_bytes, 1000u);
  EXPECT_FALSE(inbox_.Take(from_, Part(1000, 1000, true)).value().is_kept);
  EXPECT_TRUE(inbox_.Take(from_, Part(2000, file_.size(), true)).value().is_kept);
  disk::SessionFolder folder(folder_, clock_);
  EXPECT_EQ(folder.Open("talk").value().session.messages[0].content, "hello");
  EXPECT_EQ(FileCount(), 1u);
  // The last reply was lost: the sender asks again.
  EXPECT_TRUE(inbox_.Take(from_, Part(0, 1000)).value().is_kept);
  EXPECT_TRUE(inbox_.Take(from_, Part(file_.size(), 0, true)).value().is_kept);
}

// If both see the same folder it is the sender's own: if the reply said "kept", it would remove it.
TEST_F(SessionInboxTest, TheSameSessionThatDidNotComeThisWayIsNotKept) {
  disk::SessionFolder folder(folder_, clock_);
  ASSERT_TRUE(folder.Import(holder_.File("s"), "talk").ok());
  for (const rpc::SessionPart& part : {Part(0, file_.size(), true), Part(0, 1000)}) {
    const auto taken = inbox_.Take(from_, part);
    ASSERT_FALSE(taken.ok());
    EXPECT_EQ(taken.error().code(), Code::kAlreadyExists);
  }
  EXPECT_TRUE(folder.Open("talk").ok());
  EXPECT_EQ(FileCount(), 1u);
  // With another name the same session may be kept twice.
  rpc::SessionPart other = Part(0, file_.size(), true);
  other.name = "another";
  EXPECT_TRUE(inbox_.Take(from_, other).value().is_kept);
}

// It came here under that name, and a node with the same folder moves it again.
TEST_F(SessionInboxTest, WhatAnotherTransferHasBroughtIsNotKeptByThisOne) {
  const auto first = inbox_.Take(from_, Part(0, file_.size(), true)).value();
  EXPECT_TRUE(first.is_kept);
  EXPECT_EQ(first.transfer, (Hash128{3, 4}));
  for (const Hash128 transfer : {Hash128{5, 6}, Hash128{}}) {
    for (rpc::SessionPart part : {Part(0, file_.size(), true), Part(0, 1000)}) {
      part.transfer = transfer;
      const auto taken = inbox_.Take(from_, part);
      ASSERT_FALSE(taken.ok());
      EXPECT_EQ(taken.error().code(), Code::kAlreadyExists);
    }
  }
  EXPECT_TRUE(disk::SessionFolder(folder_, clock_).Open("talk").ok());
}

TEST_F(SessionInboxTest, ANameThatWasTakenMeanwhileLosesNothingThatCame) {
  ASSERT_EQ(inbox_.Take(from_, Part(0, 1000)).value().received_bytes, 1000u);
  disk::SessionFolder folder(folder_, clock_);
  ASSERT_TRUE(folder.Import(holder_.File("s"), "talk").ok());
  EXPECT_THAT(WhyNot(Part(1000, file_.size(), true)), HasSubstr("--as"));
  rpc::SessionPart rest = Part(1000, file_.size(), true);
  rest.name = "another";
  EXPECT_TRUE(inbox_.Take(from_, rest).value().is_kept);
}

TEST_F(SessionInboxTest, AbandonedTransfersAreRemovedAtTheStart) {
  ASSERT_TRUE(inbox_.Take(from_, Part(0, 1000)).ok());
  ASSERT_EQ(FileCount(), 1u);
  for (const auto& item : std::filesystem::directory_iterator(folder_)) {
    std::filesystem::last_write_time(
        item.path(), std::filesystem::file_time_type::clock::now() - std::chrono::hours(25));
  }
  const SessionInbox another(folder_, clock_);
  EXPECT_EQ(FileCount(), 0u);
}

TEST_F(SessionInboxTest, SpaceThatOthersHaveAnnouncedIsTheirs) {
  const uint64_t free_bytes = [&] {
    std::filesystem::create_directories(folder_);
    return std::filesystem::space(folder_).available;
  }();
  rpc::SessionPart part = Part(0, 1000);
  part.total_bytes = free_bytes / 3;
  ASSERT_EQ(WhyNot(part), "");
  rpc::SessionPart second = part;
  second.content = Hash128{7, 7};
  EXPECT_THAT(WhyNot(second), HasSubstr("make room there"));
}

// A member announces sessions and sends one byte of each.
TEST_F(SessionInboxTest, SixteenSessionsOfOneByteBlockNoOtherMove) {
  VirtualClock clock;
  SessionInbox inbox(folder_, clock);
  const auto announce = [&](uint64_t sender, uint64_t number, uint64_t total_bytes) {
    rpc::SessionPart part = Part(0, 1);
    part.content = Hash128{number, sender};
    part.total_bytes = total_bytes;
    return inbox.Take(rpc::NodeId{Hash128{sender, 9}}, part);
  };
  const uint64_t most_bytes = [&] {
    std::filesystem::create_directories(folder_);
    return std::filesystem::space(folder_).available / 4;
  }();
  ASSERT_TRUE(announce(5, 1, most_bytes).ok());
  EXPECT_FALSE(announce(6, 1, most_bytes).ok());  // the other half of the space is not enough
  for (uint64_t i = 2; i < 16; ++i) EXPECT_EQ(announce(5, i, 1000).ok(), i <= 4) << i;
  // The transfers stop: others may use their places and their space.
  for (uint64_t sender = 6; sender < 12; ++sender) {
    clock.AdvanceTo(clock.NowNs() + 61 * kNsPerSecond);
    for (uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(announce(sender, i, 1000).ok()) << sender;
    const auto fifth = announce(sender, 4, 1000);
    ASSERT_FALSE(fifth.ok());
    EXPECT_THAT(fifth.error().message(), HasSubstr("from your machine"));
  }
  EXPECT_LE(FileCount(), 16u);
  EXPECT_TRUE(inbox.Take(from_, Part(0, file_.size(), true)).value().is_kept);
}

TEST_F(SessionInboxTest, PartsOfOneDoNotDisagree) {
  ASSERT_TRUE(inbox_.Take(from_, Part(0, 1000)).ok());
  rpc::SessionPart part = Part(1000, 1000);
  ++part.total_bytes;
  EXPECT_THAT(WhyNot(part), HasSubstr("disagree"));
}

TEST_F(SessionInboxTest, ANameThatIsTakenIsRefusedAtOnceAndStays) {
  ASSERT_TRUE(inbox_.Take(from_, Part(0, file_.size(), true)).ok());
  // The same transfer again is there already; any other is refused.
  EXPECT_EQ(WhyNot(Part(0, 1000)), "");
  file_[file_.size() / 2] ^= 1;
  EXPECT_THAT(WhyNot(Part(0, 1000)), HasSubstr("--as"));
  EXPECT_NE(WhyNot(Part(0, file_.size(), true)), "");
  EXPECT_TRUE(disk::SessionFolder(folder_, clock_).Open("talk").ok());
  EXPECT_EQ(FileCount(), 1u);
}

TEST_F(SessionInboxTest, ANameIsNeverAPath) {
  for (const char* name :
       {"", "../talk", "/tmp/talk", "a/b", ".talk", "..", "-rf", "a\nb", "a\u202eb"}) {
    rpc::SessionPart part = Part(0, 1000);
    part.name = name;
    EXPECT_NE(WhyNot(part), "") << name;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(SessionInboxTest, DamageIsSeenAndNothingIsLeft) {
  rpc::SessionPart part = Part(0, file_.size(), true);
  part.data[file_.size() / 2] ^= 1;
  EXPECT_THAT(WhyNot(part), HasSubstr("move it again"));
  // Bytes with the right hash that are no session.
  std::ranges::fill(file_, uint8_t{7});
  EXPECT_NE(WhyNot(Part(0, file_.size(), true)), "");
  EXPECT_EQ(FileCount(), 0u);
}

// Errors of the system and of damaged files name files.
TEST_F(SessionInboxTest, NodesTellNoPathsOfTheirMachine) {
  const auto expect_no_path = [&](const std::string& why, const std::string& wanted) {
    EXPECT_THAT(why, HasSubstr(wanted));
    EXPECT_THAT(why, testing::Not(HasSubstr(holder_.File(""))));
  };
  std::ranges::fill(file_, uint8_t{7});
  expect_no_path(WhyNot(Part(0, file_.size(), true)), "session");
  std::filesystem::remove_all(folder_);
  AtomicFile in_its_place = AtomicFile::Create(folder_).value();
  ASSERT_TRUE(in_its_place.Commit().ok());
  expect_no_path(WhyNot(Part(0, 1000)), "ot a directory");
}

TEST_F(SessionInboxTest, WhatDoesNotFitIsRefusedBeforeItComes) {
  rpc::SessionPart part = Part(0, 1000);
  part.total_bytes = uint64_t{1} << 60;
  EXPECT_THAT(WhyNot(part), HasSubstr("make room there"));
  EXPECT_EQ(FileCount(), 0u);
}

}  // namespace
}  // namespace aster::node
