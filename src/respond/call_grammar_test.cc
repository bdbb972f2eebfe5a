// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/call_grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/files.h"
#include "base/folders_for_test.h"
#include "base/random.h"
#include "chat/reply_parser.h"
#include "chat/templates_for_test.h"
#include "grammar/gbnf.h"
#include "jinja/fallback.h"
#include "respond/model_for_test.h"
#include "respond/offered_tools.h"
#include "respond/reply.h"

namespace aster::respond {
namespace {

using nlohmann::ordered_json;

std::vector<std::pair<std::string, std::string>> KnownTemplates() {
  std::vector<std::pair<std::string, std::string>> known = {
      {"deepseek32", std::string(jinja::FallbackTemplate("deepseek32"))},
      {"quasar", std::string(jinja::FallbackTemplate("deepseek4"))},
      {"deepseek41", std::string(jinja::FallbackTemplate("deepseek41"))},
      {"spaced dsml", std::string(chat::kSpacedDsmlTemplate)},
      {"gemma", std::string(jinja::FallbackTemplate("gemma3"))},
      {"harmony", std::string(jinja::FallbackTemplate("gpt-oss"))},
      {"minimax", std::string(jinja::FallbackTemplate("minimax-m2"))},
      {"deepseek31", jinja::ReplacementTemplate("deepseek2", chat::kDeepSeek31Template)},
      {"phi", jinja::ReplacementTemplate("phi3", chat::kPhiTemplate)},
      {"gemma4", std::string(chat::kGemmaTemplate)},
      {"mimo", std::string(chat::kMimoTemplate)},
      {"mistral 3", std::string(chat::kMistral3Template)},
      {"mistral ids", std::string(chat::kMistralIdsTemplate)},
      {"qwen coder", std::string(chat::kQwenCoderTemplate)}};
  const std::filesystem::path folder = ASTER_SHARED_DIR "/data/templates";
  if (std::filesystem::exists(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      known.emplace_back(entry.path().stem(), ReadFile(entry.path(), 1 << 20).value());
  }
  return known;
}

struct Known {
  std::string name;
  chat::Dialect dialect;
};

// One of each template with calls. Built once, because that takes longer than most tests.
const std::vector<Known>& KnownDialects() {
  static const std::vector<Known> known = [] {
    const ordered_json base = {{"bos_token", "<bos>"}, {"eos_token", kEndText}};
    std::vector<Known> found;
    for (const auto& [name, source] : KnownTemplates()) {
      const auto chat_template = jinja::ChatTemplate::Parse(source).value();
      const chat::Dialect dialect = chat::FindDialect(source, chat_template, base);
      if (dialect.family != chat::Family::kPlain) found.push_back({name, dialect});
    }
    return found;
  }();
  return known;
}

Conversation TwoTools() {
  Conversation ask;
  ask.tools = ordered_json::parse(R"([
    {"type": "function", "function": {"name": "add", "description": "d", "parameters": {
      "type": "object", "properties": {
        "a": {"type": "integer", "minimum": 0, "maximum": 99}, "b": {"enum": ["x", "y"]},
        "c": {"type": "string"}, "d": {"type": ["string", "null"]}},
      "required": ["a", "b", "c"], "additionalProperties": false}}},
    {"type": "function", "function": {"name": "look_up", "description": "d", "parameters": {
      "$defs": {"place": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}},
      "type": "object", "properties": {"at": {"$ref": "#/$defs/place"}}, "required": ["at"]}}}])");
  ask.tool_choice = ToolChoice::kRequired;
  return ask;
}

// Written by hand, independent of the grammar.
bool IsValid(const std::string& name, const ordered_json& arguments) {
  if (!arguments.is_object()) return false;
  if (name == "look_up") {
    return arguments.size() == 1 && arguments.contains("at") && arguments["at"].is_array() &&
           arguments["at"].size() <= 2 &&
           std::ranges::all_of(arguments["at"], [](const auto& one) { return one.is_boolean(); });
  }
  const auto known = [&](const std::string& key) {
    return key == "a" || key == "b" || key == "c" || key == "d";
  };
  for (const auto& [key, value] : arguments.items()) {
    if (!known(key)) return false;
  }
  return name == "add" && arguments.contains("a") && arguments["a"].is_number_integer() &&
         arguments["a"] >= 0 && arguments["a"] <= 99 &&
         (arguments.value("b", "") == "x" || arguments.value("b", "") == "y") &&
         arguments.contains("c") && arguments["c"].is_string() &&
         (!arguments.contains("d") || arguments["d"].is_string() || arguments["d"].is_null());
}

// The result of matching a text: whether it is a valid beginning, and a complete answer.
struct Verdict {
  bool may_be = false;
  bool may_end = false;
};
Verdict Judge(const ResponseForm& form, const std::string& text) {
  grammar::Matcher matcher(*form.rest);
  grammar::StateId state = matcher.start();
  for (const char c : text) state = matcher.Next(state, static_cast<uint8_t>(c));
  return {.may_be = state != grammar::kDead, .may_end = matcher.CanEnd(state)};
}

class CallGrammar : public testing::TestWithParam<bool> {
 protected:
  bool is_harmony() const { return dialect_.family == chat::Family::kHarmony; }
  CallWriting Writing() const { return {.dialect = dialect_, .tokens = *tree_}; }

  // Each family that has a template.
  template <typename Test>
  void ForEachFamily(const Test& test) {
    ASSERT_FALSE(KnownDialects().empty());
    for (const auto& [name, dialect] : KnownDialects()) {
      SCOPED_TRACE(name);
      dialect_ = dialect;
      ASSERT_TRUE(dialect_.calls.has_value());
      test();
    }
  }

  void Append(int32_t token, std::vector<int32_t>& answer, std::string& text) const {
    answer.push_back(token);
    text += token < 2 + 256 ? std::string(tree_->BytesOf(token))
                            : tokenizer_->vocab().tokens[static_cast<size_t>(token)];
  }
  std::vector<int32_t> TokensOf(std::string_view spelled) const {
    std::vector<int32_t> tokens;
    while (!spelled.empty()) {
      int32_t token = 2 + static_cast<uint8_t>(spelled.front());
      for (int32_t id = 2 + 256; id < tokenizer_->vocab().size(); ++id) {
        if (spelled.starts_with(tree_->BytesOf(id))) token = id;
      }
      spelled.remove_prefix(tree_->BytesOf(token).size());
      tokens.push_back(token);
    }
    return tokens;
  }

  // Writes like an untrained model: any allowed token; where the answer may end, it sometimes does.
  // Nullopt if it does not end.
  std::optional<std::string> Write(const ResponseForm& form, uint64_t seed) const {
    Random random(seed);
    grammar::TokenMasks masks(form.rest, tree_);
    std::vector<int32_t> answer;
    std::string text = form.begun;
    grammar::Matcher matcher(*form.rest);
    grammar::StateId state = matcher.start();  // after the answer
    const auto along = [&](grammar::StateId from, std::string_view bytes) {
      for (const char c : bytes) from = matcher.Next(from, static_cast<uint8_t>(c));
      return from;
    };
    const auto append = [&](int32_t token) {
      Append(token, answer, text);
      state = along(state, tree_->BytesOf(token));
    };
    for (int step = 0; step < 3000; ++step) {
      matcher.AddWork(1 << 20);
      std::vector<float> logits(tree_->vocab_size(), 1.0F);
      masks.Apply(answer, logits);
      if (logits[1] == 1.0F && random.NextBelow(2) == 0) return text;
      // Random bytes would never end a tag.
      const chat::CallForm& calls = *dialect_.calls;
      const std::string close =
          tree_->Spelled(calls.quote.empty() ? calls.value_close : calls.quote);
      if (!close.empty() && random.NextBelow(6) == 0 && along(state, close) != grammar::kDead) {
        for (const int32_t token : TokensOf(close)) append(token);
        continue;
      }
      std::vector<int32_t> ways;
      // With equally likely bytes few texts would ever end.
      const bool is_wild = random.NextBelow(8) == 0;
      for (size_t id = 2; id < logits.size(); ++id) {
        const bool is_rare = !is_wild && id < 2 + 256 && (id < 2 + ' ' || id > 2 + '~');
        if (logits[id] == 1.0F && !is_rare) ways.push_back(static_cast<int32_t>(id));
      }
      for (size_t id = 2; ways.empty() && id < logits.size(); ++id) {
        if (logits[id] == 1.0F) ways.push_back(static_cast<int32_t>(id));
      }
      if (ways.empty() && logits[1] == 1.0F) return text;
      CHECK(!ways.empty());
      int32_t next = ways[random.NextBelow(ways.size())];
      for (const int32_t id : ways) {
        const bool closes = id == 2 + '"' || id == 2 + '}' || id == 2 + ']';
        if ((closes || id >= 2 + 256) && random.NextBelow(3) == 0) next = id;
      }
      append(next);
    }
    return std::nullopt;
  }

  Reply Read(const Conversation& ask, std::string_view text, std::string_view prompt = "") const {
    const auto tools = OfferedTools(ask.tools);
    chat::ReplyParser parser(dialect_, prompt, tools.get());
    std::vector<chat::ReplyEvent> events;
    parser.Push(text, events);
    parser.Finish(events);
    Reply reply;
    reply.Add(events);
    return reply;
  }
  void ExpectValidCalls(const Reply& said, const std::string& text) const {
    for (const Call& call : said.calls) {
      const auto json = ordered_json::parse(call.arguments, nullptr, false);
      EXPECT_TRUE(IsValid(call.name, json)) << call.name << " " << call.arguments << "\n" << text;
    }
  }

  const std::unique_ptr<text::Tokenizer> tokenizer_ = MakeByteTokenizer(GetParam());
  const std::shared_ptr<const grammar::TokenTree> tree_ = std::make_shared<grammar::TokenTree>(
      *tokenizer_, static_cast<uint32_t>(tokenizer_->vocab().size()));
  chat::Dialect dialect_;
};
INSTANTIATE_TEST_SUITE_P(Controls, CallGrammar, testing::Bool());

TEST_P(CallGrammar, AnAnswerThatHasToCallIsCallsAndNothingElse) {
  ForEachFamily([&] {
    for (const std::string& named : {std::string(), std::string("add")}) {
      for (const bool parallel : {true, false}) {
        Conversation ask = TwoTools();
        ask.parallel_calls = parallel;
        if (!named.empty()) {
          ask.tool_choice = ToolChoice::kNamed;
          ask.tool_name = named;
        }
        const auto form = FormOfCalls(Writing(), ask);
        ASSERT_TRUE(form.ok()) << form.error().message();
        size_t ended = 0;
        for (uint64_t seed = 0; seed < 8; ++seed) {
          const auto text = Write(*form, seed);
          if (!text) continue;
          ++ended;
          const Reply said = Read(ask, *text);
          EXPECT_EQ(said.content, "") << *text;
          ASSERT_GE(said.calls.size(), 1U) << *text;
          if (!parallel) {
            EXPECT_EQ(said.calls.size(), 1U) << *text;
          }
          if (!named.empty()) {
            EXPECT_EQ(said.calls.front().name, named);
          }
          ExpectValidCalls(said, *text);
        }
        EXPECT_GE(ended, 6U);
      }
    }
  });
}

TEST_P(CallGrammar, SeveralCallsWhereTheFamilyHasThem) {
  ForEachFamily([&] {
    const Conversation ask = TwoTools();
    const auto form = FormOfCalls(Writing(), ask);
    ASSERT_TRUE(form.ok());
    size_t most = 0;
    for (uint64_t seed = 0; seed < 32; ++seed) {
      const auto text = Write(*form, seed);
      if (text) most = std::max(most, Read(ask, *text).calls.size());
    }
    const bool has_one = dialect_.calls->next.empty();
    EXPECT_EQ(most > 1, !has_one);
    EXPECT_TRUE(!has_one || dialect_.family == chat::Family::kLlama || is_harmony());
  });
}

// The model may choose its id, if the template accepts its form.
TEST_P(CallGrammar, AnIdIsNineLettersOrDigits) {
  for (const auto& [name, dialect] : KnownDialects()) {
    if (name == "mistral ids") dialect_ = dialect;
  }
  ASSERT_EQ(dialect_.family, chat::Family::kMistral);
  const std::string call = "look_up[CALL_ID]";
  const std::string arguments = "[ARGS]{\"at\": []}";
  Conversation ask = TwoTools();
  for (const bool is_named : {false, true}) {
    if (is_named) {
      ask.tool_choice = ToolChoice::kNamed;
      ask.tool_name = "look_up";
    }
    const auto form = FormOfCalls(Writing(), ask);
    ASSERT_TRUE(form.ok()) << form.error().message();
    EXPECT_EQ(form->begun, "[TOOL_CALLS]");
    const auto judge = [&](const std::string& text) { return Judge(*form, tree_->Spelled(text)); };
    for (const char* id : {"abcdefghi", "000000000", "ZyX987wvu", "zqidzqid0"}) {
      EXPECT_TRUE(judge(call + id + arguments).may_end) << id;
      EXPECT_TRUE(judge(call + id + arguments + "[TOOL_CALLS]" + call + "aaaaaaaaa").may_be) << id;
    }
    for (const char* id : {"", "abcdefgh", "abcdefghij", "abc-efghi", "abcdefgh ", "abcdefgh\xc3"})
      EXPECT_FALSE(judge(call + id + arguments).may_be) << id;
    EXPECT_FALSE(judge("look_up[ARGS]").may_be);
    EXPECT_FALSE(judge(call + "abcdefghi" + "[CALL_ID]").may_be);
  }
}

// A name that a template's probe could have, one that needs escapes, and one that is a token.
TEST_P(CallGrammar, OddNames) {
  ForEachFamily([&] {
    for (const char* name :
         {"zqgiven", "zqnamea", "functions.add", "x", "<tool_call>", "a \"b\""}) {
      Conversation ask;
      ask.tools = ordered_json::array();
      ask.tools.push_back({{"type", "function"},
                           {"function", {{"name", name}, {"parameters", {{"type", "object"}}}}}});
      ask.tool_choice = ToolChoice::kRequired;
      const auto form = FormOfCalls(Writing(), ask);
      if (!form.ok()) {
        EXPECT_THAT(form.error().message(), testing::HasSubstr("cannot write the name"));
        EXPECT_TRUE(std::string_view(name).find_first_of("<\"") != std::string_view::npos);
        continue;
      }
      const auto text = Write(*form, 1);
      if (!text) continue;
      const Reply said = Read(ask, *text);
      // One template parses this as part of the markup.
      const bool is_cut =
          dialect_.family == chat::Family::kKimi && std::string_view(name) == "functions.add";
      ASSERT_GE(said.calls.size(), 1U) << *text;
      if (!is_cut) {
        EXPECT_EQ(said.calls[0].name, name);
      }
    }
  });
}

TEST_P(CallGrammar, AFormOrCalls) {
  ForEachFamily([&] {
    Conversation ask = TwoTools();
    ask.tool_choice = ToolChoice::kAuto;
    ask.form = grammar::ParseGbnf("root ::= \"[\" [0-9] \"]\"").value();
    const auto form = FormOrCalls(Writing(), ask);
    ASSERT_TRUE(form.ok());
    EXPECT_EQ(form->begun, "");
    size_t answers = 0;
    size_t calls = 0;
    for (uint64_t seed = 0; seed < 16; ++seed) {
      const auto text = Write(*form, seed);
      if (!text) continue;
      const Reply said = Read(ask, *text);
      ExpectValidCalls(said, *text);
      if (said.calls.empty()) {
        EXPECT_EQ(said.content.size(), 3U) << *text;
      }
      if (!said.calls.empty()) {
        EXPECT_EQ(said.content, "");
      }
      ++(said.calls.empty() ? answers : calls);
    }
    EXPECT_GE(calls, 1U);
    EXPECT_GE(answers + calls, 10U);
  });
}

TEST_P(CallGrammar, InFreeTextOnlyCallsAreHeld) {
  ForEachFamily([&] {
    Conversation ask = TwoTools();
    ask.tool_choice = ToolChoice::kAuto;
    ask.strict_tools = {"add"};
    const auto form = TextWithCalls(Writing(), ask, "");
    ASSERT_TRUE(form.ok()) << form.error().message();
    EXPECT_TRUE(Judge(*form, "Some <words> are \xf0\x9f\x98\x80 enough.").may_end);
    EXPECT_TRUE(Judge(*form, "").may_end);
    Conversation calls = ask;
    calls.tool_choice = ToolChoice::kNamed;
    calls.tool_name = "add";
    const auto forced = FormOfCalls(Writing(), calls);
    ASSERT_TRUE(forced.ok());
    size_t ended = 0;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      const auto text = Write(*forced, seed);
      if (!text) continue;
      ++ended;
      const std::string before = dialect_.family == chat::Family::kLlama ? "" : "Let me see.";
      EXPECT_TRUE(Judge(*form, before + tree_->Spelled(*text)).may_end) << *text;
    }
    EXPECT_GE(ended, 2U);
    const std::string open = tree_->Spelled(dialect_.calls->open);
    EXPECT_TRUE(Judge(*form, open + "add").may_be);
    EXPECT_FALSE(Judge(*form, open + "multiply").may_be);
    EXPECT_FALSE(Judge(*form, open).may_end);
    if (!dialect_.has_reasoning || is_harmony()) return;
    // Calls within reasoning are not parsed.
    const std::string begin(chat::ReasoningOpen(dialect_.family));
    const std::string reasoning = tree_->Spelled(begin);
    const std::string closed = "x" + tree_->Spelled(chat::ReasoningClose(dialect_.family));
    EXPECT_TRUE(Judge(*form, reasoning + open + "multiply").may_end);
    EXPECT_FALSE(Judge(*form, reasoning + closed + open + "multiply").may_be);
    const auto behind = TextWithCalls(Writing(), ask, "x" + begin + "\n");
    ASSERT_TRUE(behind.ok());
    EXPECT_TRUE(Judge(*behind, open + "multiply").may_end);
    EXPECT_TRUE(Judge(*behind, closed + open + "add").may_be);
  });
}

TEST_P(CallGrammar, WhatCannotBeKeptOfAStrictToolIsRefused) {
  ForEachFamily([&] {
    Conversation ask = TwoTools();
    ask.tool_choice = ToolChoice::kAuto;
    ask.tools[1]["function"]["parameters"]["not"] = {{"type", "null"}};
    EXPECT_TRUE(TextWithCalls(Writing(), ask, "").ok());
    EXPECT_TRUE(FormOfCalls(Writing(), ask).ok());
    ask.strict_tools = {"look_up"};
    for (const auto& form : {TextWithCalls(Writing(), ask, ""), FormOfCalls(Writing(), ask)}) {
      ASSERT_FALSE(form.ok());
      EXPECT_THAT(form.error().message(), testing::HasSubstr("look_up cannot be strict"));
    }
  });
}

// A member that has the name of a token, or of a placeholder in the markup, is neither.
TEST_P(CallGrammar, OddMembers) {
  ForEachFamily([&] {
    Conversation ask = TwoTools();
    const ordered_json number = {{"const", 1}};
    ask.tools = ordered_json::parse(
        R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}])");
    ask.tools[0]["function"]["parameters"]["properties"] = {
        {"｜DSML｜", number}, {"a\x01", number}, {"a b", number}, {"c", number}};
    ask.tools[0]["function"]["parameters"]["required"] = {"｜DSML｜", "a\x01", "c"};
    const auto form = FormOfCalls(Writing(), ask);
    ASSERT_TRUE(form.ok()) << form.error().message();
    size_t ended = 0;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      const auto text = Write(*form, seed);
      if (!text) continue;
      ++ended;
      const Reply said = Read(ask, *text);
      EXPECT_EQ(said.content, "");
      ASSERT_GE(said.calls.size(), 1U) << *text;
      const auto json = ordered_json::parse(said.calls[0].arguments, nullptr, false);
      EXPECT_TRUE(json.is_object() && json.size() >= 3) << *text;
    }
    EXPECT_GE(ended, 3U);
  });
}

TEST_P(CallGrammar, ModelsWithoutCalls) {
  const Conversation ask = TwoTools();
  const auto form = FormOfCalls(Writing(), ask);
  ASSERT_FALSE(form.ok());
  EXPECT_EQ(form.error().code(), Code::kUnimplemented);
}

}  // namespace
}  // namespace aster::respond
