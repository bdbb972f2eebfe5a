// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/transcript.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aster::respond {
namespace {

using testing::HasSubstr;

size_t Whole(const std::vector<std::string>& roles) {
  std::vector<chat::Message> messages;
  for (const std::string& role : roles) messages.push_back({role, "x"});
  return WholeMessages(messages);
}

TEST(Transcript, WholeTurnsEndWithAnAnswer) {
  EXPECT_EQ(Whole({}), 0U);
  EXPECT_EQ(Whole({"user", "assistant"}), 2U);
  EXPECT_EQ(Whole({"user", "assistant", "user"}), 2U);
  EXPECT_EQ(Whole({"assistant", "user"}), 0U);
  EXPECT_EQ(Whole({"user", "assistant", "tool", "tool", "assistant", "user", "assistant"}), 7U);
  EXPECT_EQ(Whole({"user", "assistant", "tool"}), 2U);
  EXPECT_EQ(Whole({"user", "tool", "assistant"}), 0U);
  EXPECT_EQ(Whole({"user", "assistant", "assistant"}), 2U);
  EXPECT_EQ(Whole({"user", "assistant", "owner", "assistant"}), 2U);
}

TEST(Transcript, IsReadAsItWasWritten) {
  const Transcript written = {
      .vocab_size = 9,
      .system = "s",
      .messages = {{"user", "a"}, {"assistant", "<tool_call>"}, {"tool", "3"}, {"assistant", "b"}},
      .marked = "ab",
      .tokens = {1, 2, 8}};
  const std::string text = WriteTranscript(written);
  EXPECT_EQ(ReadTranscript(text, 9).value(), written);
  EXPECT_THAT(ReadTranscript(text, 8).error().message(), HasSubstr("another vocabulary"));
  EXPECT_FALSE(ReadTranscript("{}", 9).ok());
  Transcript broken = written;
  broken.messages.pop_back();
  EXPECT_THAT(ReadTranscript(WriteTranscript(broken), 9).error().message(),
              HasSubstr("message 2 of 3"));
}

}  // namespace
}  // namespace aster::respond
