// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "chat/conversation.h"
#include "chat/templates_for_test.h"
#include "grammar/gbnf.h"
#include "respond/model_for_test.h"

namespace aster::respond {
namespace {

using engine::FinishReason;
using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::string_view kCall =
    "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\":  1}}\n</tool_call>";

ordered_json Tools() {
  return ordered_json::parse(R"([{"type": "function", "function": {"name": "add",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}}])");
}

Conversation Question() {
  Conversation conversation;
  conversation.messages = {{{"role", "user"}, {"content", "What is it?"}}};
  return conversation;
}

// Collects the response.
class Heard final : public Listener {
 public:
  void OnToken(const engine::Delta& /*delta*/) override { ++tokens; }
  void OnPiece(const Piece& piece) override {
    text += piece.text;
    reply.Add(piece.events, piece.tokens);
    tokens_of_pieces.push_back(piece.tokens.size());
  }
  void OnEnd(const End& end) override {
    OnPiece(end.last);
    reason = end.reason;
    is_cancelled = end.is_cancelled;
    usage = end.usage;
    status = end.status;
  }

  uint64_t tokens = 0;
  std::string text;  // as the model wrote it
  Reply reply;
  std::vector<size_t> tokens_of_pieces;  // the number of log-probabilities with each piece
  std::optional<EndReason> reason;
  bool is_cancelled = false;
  Usage usage;
  Status status;
};

// Acts as the engine for one response.
class Play {
 public:
  Play(const Model& model, Prompt prompt, Settings settings = {})
      : prompt_(std::move(prompt)),
        response_(model, std::move(settings), prompt_, MakeMasks(model, prompt_).value(), heard_),
        request_(response_.MakeRequest()) {}
  Play(const Model& model, const Conversation& conversation, Settings settings = {})
      : Play(model, MakePrompt(model, conversation).value(), std::move(settings)) {}

  void Prefill() { request_.on_prefill(0, prompt_.tokens.size()); }
  // A token, and the text that may be sent now.
  void Say(std::string_view text, std::optional<char> byte = std::nullopt, float logprob = 0) {
    const char of = byte ? *byte : text.empty() ? 'x' : text.back();
    const engine::Choice choice{.id = kFirstByte + static_cast<uint8_t>(of), .logprob = logprob};
    request_.on_token({.id = 1, .choice = choice, .text = text});
  }
  void SayEach(std::string_view text, size_t piece) {
    for (size_t at = 0; at < text.size(); at += piece) Say(text.substr(at, piece));
  }
  void Finish(FinishReason reason, std::string text = "", Status status = {}) {
    engine::Finish finish;
    finish.reason = reason;
    finish.status = std::move(status);
    finish.text = std::move(text);
    finish.counts = {.prompt = 5, .cached = 2, .generated = heard_.tokens};
    request_.on_finish(finish);
  }

  const Prompt& prompt() const { return prompt_; }
  const engine::Request& request() const { return request_; }
  void Cut() { response_.Cut(); }
  const Response& response() const { return response_; }
  const Heard& heard() const { return heard_; }
  const Reply& reply() const { return heard_.reply; }

 private:
  const Prompt prompt_;
  Heard heard_;
  Response response_;
  const engine::Request request_;
};

class ResponseTest : public testing::Test {
 protected:
  const TestModel model_;
};

TEST_F(ResponseTest, TheSameEventsInWhateverPiecesTheTextComes) {
  Conversation conversation = Question();
  conversation.tools = Tools();
  const std::string said = "<think>\nLet me see.\n</think>\n\nI add." + std::string("\n") +
                           std::string(kCall) + "\n" + std::string(kCall);
  for (const size_t piece : {1, 2, 3, 7, 500}) {
    Play play(model_.get(), conversation);
    play.Prefill();
    play.SayEach(said, piece);
    play.Finish(FinishReason::kStopToken);
    EXPECT_EQ(play.heard().text, said);
    EXPECT_EQ(play.reply().reasoning, "Let me see.");
    EXPECT_EQ(play.reply().content, "I add.");
    ASSERT_THAT(play.reply().calls, SizeIs(2));
    for (const Call& call : play.reply().calls) {
      EXPECT_EQ(call.name, "add");
      EXPECT_EQ(call.arguments, "{\"a\":  1}");  // byte for byte
    }
    EXPECT_NE(play.reply().calls[0].id, play.reply().calls[1].id);
    EXPECT_EQ(play.heard().reason, EndReason::kCalls);
    EXPECT_EQ(play.heard().usage.answer, play.heard().tokens);
    EXPECT_EQ(play.heard().usage.cached, 2U);
    if (piece == 1) {
      EXPECT_GE(play.heard().usage.reasoning, 10U);
      EXPECT_LT(play.heard().usage.reasoning, 30U);
    }
  }
}

TEST_F(ResponseTest, WithoutToolsACallIsText) {
  Play play(model_.get(), Question());
  play.SayEach(kCall, 4);
  play.Finish(FinishReason::kStopToken);
  EXPECT_EQ(play.reply().content, kCall);
  EXPECT_EQ(play.heard().reason, EndReason::kStop);
}

TEST_F(ResponseTest, OfARawPromptNothingIsTakenApart) {
  Play play(model_.get(), RawPrompt({5, 6}, nullptr));
  EXPECT_FALSE(play.request().show_control);
  play.Say("<think>a</think>");
  play.Finish(FinishReason::kLength, "b");
  EXPECT_EQ(play.reply().content, "<think>a</think>b");
}

TEST_F(ResponseTest, TheRequestIsWhatTheSettingsSay) {
  Settings settings{.sampling = {.seed = 7}, .max_tokens = 9, .stops = {"x"}};
  settings.context_limit = 100;
  Play play(model_.get(), Question(), settings);
  EXPECT_EQ(play.request().sampling.seed, 7U);
  EXPECT_EQ(play.request().max_tokens, 9U);
  EXPECT_EQ(play.request().context_limit, 100U);
  EXPECT_THAT(play.request().stop_strings, ElementsAre("x"));
  EXPECT_THAT(play.request().stop_tokens, ElementsAre(kEndToken));
  EXPECT_TRUE(play.request().show_control);  // for a model that may reason
  settings.ignores_end = true;
  EXPECT_THAT(Play(model_.get(), Question(), settings).request().stop_tokens, SizeIs(0));
}

TEST_F(ResponseTest, AFormEndsReasoningThatThePromptHasBegun) {
  Conversation conversation = Question();
  conversation.variables["reasoning_effort"] = "high";
  conversation.form = grammar::ParseGbnf("root ::= \"yes\" | \"no\"").value();
  Play play(model_.get(), conversation);
  EXPECT_EQ(play.prompt().forced, "\n</think>\n\n");
  play.Prefill();
  play.Say("yes");
  play.Finish(FinishReason::kStopToken);
  EXPECT_EQ(play.reply().reasoning, "");
  EXPECT_EQ(play.reply().content, "yes");
  // Only tokens that the form allows may be chosen.
  std::vector<float> logits(model_.get().tokens->vocab_size(), 1.0F);
  play.request().edit_logits(play.prompt().tokens, logits);
  EXPECT_EQ(logits[kFirstByte + 'y'], 1.0F);
  EXPECT_NE(logits[kFirstByte + 'z'], 1.0F);
}

TEST_F(ResponseTest, ACallThatHasToBeIsBegunForTheModel) {
  Conversation conversation = Question();
  conversation.tools = Tools();
  conversation.tool_choice = ToolChoice::kRequired;
  Play play(model_.get(), conversation);
  EXPECT_THAT(play.prompt().forced, HasSubstr("add"));
  play.Prefill();
  play.SayEach(" {\"a\": 2}}\n</tool_call>", 3);
  play.Finish(FinishReason::kStopToken);
  ASSERT_THAT(play.reply().calls, SizeIs(1));
  EXPECT_EQ(play.reply().calls[0].arguments, "{\"a\": 2}");
  EXPECT_EQ(play.reply().content, "");
  EXPECT_TRUE(play.heard().status.ok());
}

TEST_F(ResponseTest, TextInThePlaceOfACallIsAFailure) {
  Conversation conversation = Question();
  conversation.tools = Tools();
  Prompt prompt = MakePrompt(model_.get(), conversation).value();
  prompt.has_to_call = true;
  Play play(model_.get(), std::move(prompt));
  play.Say("I will not");
  play.Finish(FinishReason::kStopToken);
  EXPECT_EQ(play.reply().content, "");
  ASSERT_FALSE(play.heard().status.ok());
  EXPECT_EQ(play.heard().status.error().code(), Code::kInternal);
}

TEST_F(ResponseTest, OneCallIsEnoughWhereOneIsWanted) {
  Conversation conversation = Question();
  conversation.tools = Tools();
  conversation.parallel_calls = false;
  Play play(model_.get(), conversation);
  play.SayEach(kCall, 5);
  EXPECT_TRUE(play.response().is_complete());
  play.SayEach("\n" + std::string(kCall), 5);
  play.Finish(FinishReason::kCancelled);
  EXPECT_THAT(play.reply().calls, SizeIs(1));
  EXPECT_FALSE(play.heard().is_cancelled);
  EXPECT_EQ(play.heard().reason, EndReason::kCalls);
}

TEST_F(ResponseTest, AResponseThatIsCutEndsAsAtItsLimit) {
  Play play(model_.get(), RawPrompt({5, 6}, nullptr));
  play.Say("a\n");
  EXPECT_FALSE(play.response().is_complete());
  play.Cut();
  EXPECT_TRUE(play.response().is_complete());
  play.Say("b");
  play.Finish(FinishReason::kCancelled, "c");
  EXPECT_EQ(play.reply().content, "a\n");
  EXPECT_FALSE(play.heard().is_cancelled);
  EXPECT_EQ(play.heard().reason, EndReason::kLength);
}

// The next prompt has them where the model wrote them; other families' calls get our ids.
TEST(ResponseIds, OfMistralAreTheModelsOwnWhereTheyAreAnyUse) {
  const TestModel model(/*has_controls=*/true, chat::kMistralIdsTemplate);
  ASSERT_EQ(model.get().dialect.family, chat::Family::kMistral);
  Conversation conversation = Question();
  conversation.tools = Tools();
  std::string said;
  for (const char* id : {"aZ0bY1cX2", "aZ0bY1cX2", "short", "ten-letter", "nine-text", ""})
    said += "[TOOL_CALLS]add[CALL_ID]" + std::string(id) + "[ARGS]{\"a\": 1}";
  said += "[TOOL_CALLS]add[ARGS]{\"a\": 1}";
  for (const size_t piece : {1, 4, 500}) {
    Play play(model.get(), conversation);
    play.SayEach(said, piece);
    play.Finish(FinishReason::kStopToken);
    EXPECT_EQ(play.reply().content, "");
    ASSERT_THAT(play.reply().calls, SizeIs(7));
    EXPECT_EQ(play.reply().calls[0].id, "aZ0bY1cX2");
    std::set<std::string> ids;
    for (const Call& call : play.reply().calls) {
      EXPECT_EQ(call.name, "add");
      EXPECT_EQ(call.arguments, "{\"a\": 1}");
      EXPECT_EQ(call.id, chat::ShortCallId(call.id));
      ids.insert(call.id);
    }
    EXPECT_THAT(ids, SizeIs(7));
  }
  // Other families get ours.
  const TestModel other;
  Play play(other.get(), conversation);
  play.SayEach("<tool_call>{\"name\": \"add\", \"id\": \"aZ0bY1cX2\"}</tool_call>", 5);
  play.Finish(FinishReason::kStopToken);
  ASSERT_THAT(play.reply().calls, SizeIs(1));
  EXPECT_THAT(play.reply().calls[0].id, testing::StartsWith("call_"));
}

TEST_F(ResponseTest, LogprobsWaitForTheirTextWhereAStopStringMayCutIt) {
  Settings settings;
  settings.sampling.logprobs = true;
  settings.stops = {"bc"};
  Play play(model_.get(), Question(), settings);
  play.Say("a", 'a', -1);
  play.Say("", 'b', -2);  // held back: the stop string may have begun
  EXPECT_THAT(play.heard().tokens_of_pieces, ElementsAre(1));
  play.Say("bd", 'd', -3);
  EXPECT_THAT(play.heard().tokens_of_pieces, ElementsAre(1, 2));
  play.Say("", 'b', -4);
  play.Say("", 'c', -5);
  play.Finish(FinishReason::kStopString);
  EXPECT_EQ(play.reply().content, "abd");
  std::string bytes;
  for (const ResponseToken& token : play.reply().tokens) bytes += token.bytes;
  EXPECT_EQ(bytes, "abd");
  EXPECT_EQ(play.reply().tokens[2].logprob, -3);
  EXPECT_EQ(play.heard().reason, EndReason::kStopString);
}

TEST_F(ResponseTest, AGrammarThatCostsTooMuchIsTheReasonOfTheFailure) {
  // The beginning is cheap: the alternatives come after the first byte.
  std::string gbnf = "root ::= \"a\" a0 \"x\"\n";
  for (int i = 0; i < 30; ++i) {
    const std::string next = "a" + std::to_string(i + 1);
    gbnf += "a" + std::to_string(i) + " ::= " + next + " " + next + "\n";
  }
  Conversation conversation = Question();
  conversation.form = grammar::ParseGbnf(gbnf + "a30 ::= \"\"\n").value();
  Play play(model_.get(), conversation);
  std::vector<int32_t> history = play.prompt().tokens;
  history.push_back(kFirstByte + 'a');
  std::vector<float> logits(model_.get().tokens->vocab_size(), 1.0F);
  play.request().edit_logits(history, logits);
  play.Finish(FinishReason::kFailed, "", Error(Code::kInternal, "every token is impossible"));
  ASSERT_FALSE(play.heard().status.ok());
  EXPECT_THAT(play.heard().status.error().message(), HasSubstr("too many ways"));
}

TEST_F(ResponseTest, TheEndReasonIsReported) {
  const auto end = [&](FinishReason reason) {
    Play play(model_.get(), Question());
    play.Say("a");
    play.Finish(reason, "b");
    EXPECT_EQ(play.reply().content, "ab");
    EXPECT_EQ(play.heard().is_cancelled, reason == FinishReason::kCancelled);
    return play.heard().reason.value();
  };
  EXPECT_EQ(end(FinishReason::kLength), EndReason::kLength);
  EXPECT_EQ(end(FinishReason::kContext), EndReason::kLength);
  EXPECT_EQ(end(FinishReason::kStopString), EndReason::kStopString);
  EXPECT_EQ(end(FinishReason::kStopToken), EndReason::kStop);
  EXPECT_EQ(end(FinishReason::kCancelled), EndReason::kStop);
  Play play(model_.get(), Question());
  play.Say("a");
  play.Finish(FinishReason::kFailed, "", Error(Code::kUnavailable, "no node is left"));
  EXPECT_EQ(play.heard().status.error().message(), "no node is left");
  EXPECT_EQ(play.reply().content, "a");
}

}  // namespace
}  // namespace aster::respond
