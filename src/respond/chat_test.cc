// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/chat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "respond/model_for_test.h"

namespace aster::respond {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class NoMemory final : public engine::SequenceMemory {
 public:
  uint32_t length() const override { return 0; }
  void Truncate(uint32_t /*length*/) override {}
  void Adopt(std::span<const int32_t> /*tokens*/) override {}
  std::unique_ptr<engine::SequenceMemory> Fork() const override {
    return std::make_unique<NoMemory>();
  }
};

// Answers each request with the next text, one byte per token, and then an end token.
class Scripted final : public engine::Generator {
 public:
  explicit Scripted(const text::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  const model::Shape& shape() const override { return shape_; }
  engine::Sequence NewSequence() override { return engine::Sequence(std::make_unique<NoMemory>()); }
  Result<engine::RequestId> Submit(engine::Request request) override {
    if (texts.empty()) return ResourceExhausted("nothing more to say");
    prompts.push_back(tokenizer_.Decode(request.sequence->tokens(), {}).value());
    seeds.push_back(request.sampling.seed);
    request_ = std::move(request);
    return 1;
  }
  void Cancel(engine::RequestId /*id*/) override {}
  bool idle() const override { return !request_.has_value(); }
  Status Step() override {
    const engine::Request request = *std::exchange(request_, std::nullopt);
    const std::string text = texts.front();
    texts.pop_front();
    for (const char c : text) {
      const engine::Choice choice{.id = kFirstByte + static_cast<uint8_t>(c)};
      request.sequence->Append(choice.id);
      request.on_token({.id = 1, .choice = choice, .text = {&c, 1}});
    }
    request.sequence->Append(kEndToken);
    const engine::Choice choice{.id = kEndToken};
    request.on_token({.id = 1, .choice = choice, .text = ""});
    engine::Finish finish;
    finish.reason = engine::FinishReason::kStopToken;
    finish.stop_token = kEndToken;
    finish.counts.generated = text.size() + 1;
    request.on_finish(finish);
    return Ok();
  }
  Status LogitsOf(std::span<const int32_t> /*tokens*/, size_t /*chunk*/,
                  engine::LogitsSink /*sink*/) override {
    return Ok();
  }
  Status ExportRows(engine::Sequence& /*sequence*/, uint32_t /*begin*/, uint32_t /*end*/,
                    kv::KvChunkSink /*sink*/) override {
    return Ok();
  }
  Status ImportRows(engine::Sequence& /*sequence*/, Bytes /*rows*/) override { return Ok(); }

  std::deque<std::string> texts;
  std::vector<std::string> prompts;  // of each request
  std::vector<uint64_t> seeds;

 private:
  const text::Tokenizer& tokenizer_;
  const model::Shape shape_ = {};
  std::optional<engine::Request> request_;
};

class Nothing final : public Listener {
 public:
  void OnPiece(const Piece& /*piece*/) override {}
  void OnEnd(const End& /*end*/) override {}
};

constexpr const char* kAddCall =
    "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\":  1}}\n</tool_call>";

Conversation WithAdd() {
  Conversation base;
  base.tools = ordered_json::parse(
      R"([{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}])");
  return base;
}

class ChatTest : public testing::Test {
 protected:
  Chat Make(Conversation base = {}) {
    return Chat(engine_, model_.get(), {}, std::move(base), "Be brief.");
  }
  static std::vector<std::string> RolesOf(const Chat& chat) {
    std::vector<std::string> roles;
    for (const chat::Message& message : chat.transcript().messages) roles.push_back(message.role);
    return roles;
  }

  const TestModel model_{/*has_controls=*/false};
  Scripted engine_{*model_.get().tokenizer};
  Nothing nothing_;
};

TEST_F(ChatTest, ATurnGoesOnFromTheTokensOfTheLast) {
  engine_.texts = {"one", "two"};
  Chat chat = Make();
  EXPECT_EQ(chat.Ask("a", nothing_).value().reply.content, "one");
  const std::vector<int32_t> first = chat.transcript().tokens;
  ASSERT_TRUE(chat.Ask("b", nothing_).ok());
  EXPECT_EQ(engine_.prompts[0], "[system]Be brief.[user]a[assistant]");
  EXPECT_EQ(engine_.prompts[1], "[system]Be brief.[user]a[assistant]one<end>[user]b[assistant]");
  const std::vector<int32_t> second = chat.transcript().tokens;
  EXPECT_TRUE(std::equal(first.begin(), first.end(), second.begin()));
  EXPECT_EQ(chat.totals().answers, 2U);
}

TEST_F(ChatTest, CallsWaitForTheirResultsAndThenItGoesOn) {
  engine_.texts = {std::string("I add.\n") + kAddCall + "\n" + kAddCall, "two"};
  Chat chat = Make(WithAdd());
  const Answered answered = chat.Ask("1 + 1?", nothing_).value();
  EXPECT_EQ(answered.reply.content, "I add.");
  ASSERT_THAT(chat.open_calls(), SizeIs(2));
  EXPECT_EQ(chat.open_calls()[0].name, "add");
  ASSERT_TRUE(chat.GiveResults({"2", "3"}, nothing_).ok());
  EXPECT_THAT(chat.open_calls(), SizeIs(0));
  // Arguments are as the model wrote them.
  EXPECT_THAT(engine_.prompts[1], HasSubstr(std::string("I add.\n") + kAddCall + "\n" + kAddCall));
  EXPECT_THAT(engine_.prompts[1], HasSubstr("<end>[tool]2[tool]3[assistant]"));
  EXPECT_THAT(RolesOf(chat), ElementsAre("user", "assistant", "tool", "tool", "assistant"));
}

TEST_F(ChatTest, UndoTakesBackTheQuestionWithAllItsCalls) {
  engine_.texts = {"one", kAddCall, "two", kAddCall};
  Chat chat = Make(WithAdd());
  ASSERT_TRUE(chat.Ask("a", nothing_).ok());
  const Transcript before = chat.transcript();
  ASSERT_TRUE(chat.Ask("b", nothing_).ok());
  ASSERT_TRUE(chat.GiveResults({"1"}, nothing_).ok());
  ASSERT_TRUE(chat.Undo().ok());
  EXPECT_EQ(chat.transcript(), before);
  ASSERT_TRUE(chat.Ask("c", nothing_).ok());
  EXPECT_THAT(chat.open_calls(), SizeIs(1));
  ASSERT_TRUE(chat.Undo().ok());
  EXPECT_EQ(chat.transcript(), before);
  EXPECT_THAT(chat.open_calls(), SizeIs(0));
  ASSERT_TRUE(chat.Undo().ok());
  EXPECT_EQ(chat.Undo().error().code(), Code::kFailedPrecondition);
}

TEST_F(ChatTest, AnAnswerIsMadeAgainWithAnotherDraw) {
  engine_.texts = {"one", "two"};
  Chat chat = Make();
  EXPECT_FALSE(chat.Regenerate(nothing_).ok());
  ASSERT_TRUE(chat.Ask("a", nothing_).ok());
  ASSERT_TRUE(chat.Regenerate(nothing_).ok());
  EXPECT_EQ(engine_.prompts[1], engine_.prompts[0]);
  EXPECT_NE(engine_.seeds[1], engine_.seeds[0]);
  EXPECT_EQ(chat.transcript().messages.back().content, "two");
}

TEST_F(ChatTest, AnErrorLeavesItAsItWas) {
  engine_.texts = {kAddCall};
  Chat chat = Make(WithAdd());
  ASSERT_TRUE(chat.Ask("a", nothing_).ok());
  const Transcript before = chat.transcript();
  EXPECT_FALSE(chat.GiveResults({"1"}, nothing_).ok());
  EXPECT_FALSE(chat.Regenerate(nothing_).ok());
  EXPECT_EQ(chat.transcript(), before);
  EXPECT_THAT(chat.open_calls(), SizeIs(1));
}

TEST_F(ChatTest, WhatIsRestoredGoesOnWhereItWas) {
  const std::string reasoning = "<think>\nAh.\n</think>\n\nSo.";
  engine_.texts = {reasoning + "\n" + kAddCall, "two"};
  Chat chat = Make(WithAdd());
  ASSERT_TRUE(chat.Ask("a", nothing_).ok());
  const Transcript kept = chat.transcript();
  ASSERT_TRUE(chat.GiveResults({"1"}, nothing_).ok());
  engine_.texts = {"two"};
  Chat later = Make(WithAdd());
  later.Restore(kept);
  EXPECT_EQ(later.transcript(), kept);
  ASSERT_THAT(later.open_calls(), SizeIs(1));
  ASSERT_TRUE(later.GiveResults({"1"}, nothing_).ok());
  EXPECT_EQ(engine_.prompts[2], engine_.prompts[1]);
  // The template renders earlier turns again.
  ASSERT_TRUE(later.Undo().ok());
  EXPECT_EQ(later.message_count(), 0U);
}

TEST_F(ChatTest, WithoutATemplateTextIsContinued) {
  const TestModel plain(/*has_controls=*/false, "");
  engine_.texts = {" there", "!"};
  Chat chat(engine_, plain.get(), {}, {}, "");
  ASSERT_TRUE(chat.Ask("hello", nothing_).ok());
  ASSERT_TRUE(chat.Ask(", you", nothing_).ok());
  EXPECT_EQ(engine_.prompts[1], "hello there, you");
}

}  // namespace
}  // namespace aster::respond
