// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "chat/templates_for_test.h"
#include "gguf/metadata_builder.h"

namespace aster::chat {
namespace {

// Some control tokens have equal beginnings, some end with the beginning of others, and some are
// within others.
const std::vector<std::string> kControls = {"<a>", "<a", "<ab>", "b><a", ">>", "<a><b>", "<"};

std::unique_ptr<text::Tokenizer> MakeTokenizer() {
  text::Vocab vocab;
  vocab.kind = text::VocabKind::kSentencePiece;
  const auto add = [&](const std::string& token, text::TokenType type) {
    vocab.tokens.push_back(token);
    vocab.types.push_back(type);
    vocab.scores.push_back(-static_cast<float>(vocab.tokens.size()));
  };
  add("<unk>", text::TokenType::kUnknown);
  for (const std::string& control : kControls) add(control, text::TokenType::kControl);
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    const auto high = static_cast<size_t>(byte) / 16;
    const auto low = static_cast<size_t>(byte) % 16;
    add(std::string("<0x") + kHex[high] + kHex[low] + ">", text::TokenType::kByte);
  }
  vocab.special.unk = 0;
  return text::Tokenizer::Make(std::move(vocab)).value();
}

class PromptTest : public testing::Test {
 protected:
  const std::unique_ptr<text::Tokenizer> tokenizer_ = MakeTokenizer();
  const ChatPrompt prompt_ = ChatPrompt::Make(gguf::Metadata(), *tokenizer_).value();
};

TEST_F(PromptTest, UserTextIsNeverAControlToken) {
  constexpr std::string_view kLetters = "<>ab";
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (uint64_t left = random.NextBelow(12); left > 0; --left)
      text += kLetters[random.NextBelow(kLetters.size())];
    const std::string marked = prompt_.Marked(text);
    for (const std::string& control : kControls) {
      EXPECT_EQ(marked.find(control), std::string::npos) << text << " has " << control;
    }
    const auto ids = prompt_.Encode(marked);
    ASSERT_TRUE(ids.ok());
    for (const int32_t id : *ids) {
      EXPECT_NE(tokenizer_->vocab().types[static_cast<size_t>(id)], text::TokenType::kControl);
    }
  }
}

TEST_F(PromptTest, ControlTokensAreMaskedLongestFirst) {
  EXPECT_EQ(prompt_.Marked(""), "");
  EXPECT_EQ(prompt_.Marked("a>b"), "a>b");
  EXPECT_EQ(prompt_.Marked("x<a><b>y").size(), 2 + 4U);
  EXPECT_EQ(prompt_.Marked("x<a><c>y").size(), 4 + 2 * 4U);
  EXPECT_NE(prompt_.Marked("<a>"), prompt_.Marked("<a"));
}

// The time must be linear: ten million bytes once took hours.
TEST_F(PromptTest, LongTextsFullOfMarkup) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += i % 3 == 0 ? "<a><" : "<<ab";
  EXPECT_EQ(prompt_.Marked(text).find('<'), std::string::npos);
}

// The prompt of a file with only this key.
ChatPrompt PromptOf(const char* key, std::string_view text, const text::Tokenizer& tokenizer) {
  gguf::MetadataBuilder builder;
  builder.Set(key, text);
  const auto& only = *builder.Find(key);
  std::vector<gguf::Value> values;
  values.emplace_back(key, only.type, Bytes(only.bytes).subspan(sizeof(uint64_t)));
  const gguf::Metadata metadata = gguf::Metadata::Of(std::move(values)).value();
  return ChatPrompt::Make(metadata, tokenizer).value();
}

// The template would write a client's JSON within its own braces.
TEST_F(PromptTest, EarlierCallsOfGemma4AreInItsForm) {
  const ChatPrompt prompt = PromptOf("tokenizer.chat_template", kGemmaTemplate, *tokenizer_);
  const auto messages = nlohmann::ordered_json::parse(R"([{"role": "user", "content": "Where?"},
      {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function",
       "function": {"name": "find", "arguments": "{\"what\": \"key\", \"most\": 3}"}}]}])");
  const auto text = prompt.Render(messages, nullptr);
  ASSERT_TRUE(text.ok()) << text.error().message();
  EXPECT_THAT(*text,
              testing::HasSubstr("<|tool_call>call:find{most:3,what:<|\"|>key<|\"|>}<tool_call|>"));
}

// Names of members come from clients, too, and so do a template's further variables.
TEST_F(PromptTest, NamesOfMembersAreNeverControlTokens) {
  const ChatPrompt prompt = PromptOf(
      "tokenizer.chat_template",
      "{{ tools | tojson }}{{ documents | tojson }}"
      "{% set parameters = tools[0].function.parameters %}"
      "{% for name in parameters.required %}"
      "{{ name ~ '=' ~ parameters.properties[name].type ~ (name in parameters.properties) }}"
      "{% endfor %}"
      "{% for message in messages if message.role == 'assistant' %}"
      "{% for call in message.tool_calls %}"
      "{% for name, value in call.function.arguments.items() %}{{ name ~ value }}{% endfor %}"
      "{% endfor %}{% endfor %}",
      *tokenizer_);
  const auto messages = nlohmann::ordered_json::parse(
      R"([{"role": "assistant", "content": "", "tool_calls": [{"type": "function",
           "function": {"name": "f", "arguments": {"<a>": {"<ab>": 1}, "role": "<a>"}}}]}])");
  const auto tools = nlohmann::ordered_json::parse(
      R"([{"type": "function", "function": {"name": "f", "parameters": {
           "properties": {"x<a>": {"type": "string"}}, "required": ["x<a>"]}}}])");
  const auto extra = nlohmann::ordered_json::parse(R"({"documents": [{"<ab>": "<a><b>"}]})");
  const auto text = prompt.Render(messages, tools, extra);
  ASSERT_TRUE(text.ok()) << text.error().message();
  EXPECT_EQ(text->find('<'), std::string::npos) << *text;
  EXPECT_THAT(*text, testing::HasSubstr(prompt.Marked("x<a>") + "=stringTrue"));
  EXPECT_THAT(*text, testing::HasSubstr("role" + prompt.Marked("<a>")));
  const std::vector<int32_t> ids = prompt.Encode(*text).value();
  for (const int32_t id : ids)
    EXPECT_NE(tokenizer_->vocab().types[static_cast<size_t>(id)], text::TokenType::kControl);
}

TEST_F(PromptTest, TheReasoningEffortIsInThePrompt) {
  // These architectures have templates in the program.
  for (const char* architecture : {"deepseek4", "deepseek41"}) {
    SCOPED_TRACE(architecture);
    ChatPrompt prompt = PromptOf("general.architecture", architecture, *tokenizer_);
    const std::vector<Message> messages = {{"user", "why?"}};
    std::vector<std::string> prompts;
    for (const ReasoningEffort effort :
         {ReasoningEffort::kOff, ReasoningEffort::kHigh, ReasoningEffort::kMax}) {
      prompt.SetReasoningEffort(effort);
      prompts.push_back(prompt.Render(messages).value());
    }
    EXPECT_TRUE(prompts[0].ends_with("</think>"));
    EXPECT_TRUE(prompts[1].ends_with("<think>"));
    EXPECT_TRUE(prompts[2].ends_with("<think>"));
    EXPECT_GT(prompts[2].size(), prompts[1].size());
    EXPECT_TRUE(prompt.SupportsReasoningEffort());
    prompt.DropTemplate();
    EXPECT_FALSE(prompt.SupportsReasoningEffort());
  }
}

}  // namespace
}  // namespace aster::chat
