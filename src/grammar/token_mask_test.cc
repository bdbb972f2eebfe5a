// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/token_mask.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "grammar/gbnf.h"
#include "grammar/json_schema.h"

namespace aster::grammar {
namespace {

using nlohmann::ordered_json;

// All bytes, some words of JSON, and an end.
std::unique_ptr<text::Tokenizer> MakeTokenizer() {
  text::Vocab vocab;
  vocab.kind = text::VocabKind::kSentencePiece;
  const auto add = [&](std::string token, text::TokenType type) {
    vocab.tokens.push_back(std::move(token));
    vocab.types.push_back(type);
    vocab.scores.push_back(-static_cast<float>(vocab.tokens.size()));
  };
  add("<unk>", text::TokenType::kUnknown);
  add("</s>", text::TokenType::kControl);
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    std::string name = "<0x";
    name += kHex[static_cast<size_t>(byte) / 16];
    name += kHex[static_cast<size_t>(byte) % 16];
    add(name + ">", text::TokenType::kByte);
  }
  for (const char* word : {"\"a\":", "\",", "\"}", "}}", "true", "{\"", "ab", "abc", "\": [", "12",
                           "]}", "\",\"b\":"}) {
    add(word, text::TokenType::kNormal);
  }
  add("<call>", text::TokenType::kControl);
  vocab.special.unk = 0;
  vocab.special.eos = 1;
  vocab.end_of_generation = {1};
  auto tokenizer = text::Tokenizer::Make(std::move(vocab));
  CHECK_NOTE(tokenizer.ok(), tokenizer.ok() ? "" : tokenizer.error().message());
  return *std::move(tokenizer);
}

class TokenMask : public testing::Test {
 protected:
  std::vector<bool> Allowed(TokenMasks& masks, const std::vector<int32_t>& answer) const {
    std::vector<float> logits(tree_->vocab_size(), 1.0F);
    masks.Apply(answer, logits);
    std::vector<bool> allowed;
    for (const float logit : logits) allowed.push_back(logit == 1.0F);
    return allowed;
  }
  // Byte by byte, without any optimisation.
  bool MayFollow(const Grammar& grammar, std::string_view text, std::string_view more) const {
    Matcher matcher(grammar);
    StateId state = matcher.start();
    for (const char c : std::string(text) + std::string(more)) {
      if (state == kDead) return false;
      state = matcher.Next(state, static_cast<uint8_t>(c));
    }
    return state != kDead;
  }

  const std::unique_ptr<text::Tokenizer> tokenizer_ = MakeTokenizer();
  const std::shared_ptr<const TokenTree> tree_ = std::make_shared<TokenTree>(
      *tokenizer_, static_cast<uint32_t>(tokenizer_->vocab().size()) + 3);
};

TEST_F(TokenMask, MasksAreWhatEachTokenAloneWouldSay) {
  for (const char* schema :
       {R"({"type": "object"})",
        R"({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "array",
            "items": {"type": "object", "properties": {"a": {"type": "boolean"}}}}},
            "required": ["a", "b"]})"}) {
    const auto grammar = JsonSchemaGrammar(ordered_json::parse(schema));
    ASSERT_TRUE(grammar.ok());
    for (uint64_t seed = 0; seed < 5; ++seed) {
      Random random(seed);
      TokenMasks masks(*grammar, tree_);
      std::vector<int32_t> answer;
      std::string text;
      for (int step = 0; step < 24; ++step) {
        const std::vector<bool> allowed = Allowed(masks, answer);
        std::vector<int32_t> possible;
        for (int32_t id = 2; id < tokenizer_->vocab().size(); ++id) {
          const std::string_view bytes = tree_->BytesOf(id);
          if (bytes.empty()) continue;
          EXPECT_EQ(allowed[static_cast<size_t>(id)], MayFollow(**grammar, text, bytes))
              << text << "|" << bytes;
          if (allowed[static_cast<size_t>(id)]) possible.push_back(id);
        }
        EXPECT_EQ(allowed[1], masks.IsWhole(answer));
        EXPECT_FALSE(allowed[0]);
        if (possible.empty()) break;
        answer.push_back(possible[random.NextBelow(possible.size())]);
        text += tree_->BytesOf(answer.back());
      }
      // Going back gives the same as never having been further.
      answer.resize(answer.size() / 2);
      TokenMasks fresh(*grammar, tree_);
      EXPECT_EQ(Allowed(masks, answer), Allowed(fresh, answer));
    }
  }
}

// Only naming a control token allows it, not texts that look like it.
TEST_F(TokenMask, ControlTokensAreAllowedWhereTheyAreNamed) {
  const int32_t control = tokenizer_->vocab().size() - 1;
  for (const bool is_named : {true, false}) {
    auto grammar = std::make_shared<Grammar>();
    const RuleId root = grammar->AddRule();
    const std::string_view markup = "a<call>b";
    const std::string text = is_named ? tree_->Spelled(markup) : std::string(markup);
    grammar->AddAlternative(root, grammar->Literal(text));
    ASSERT_TRUE(grammar->Finish().ok());
    TokenMasks masks(grammar, tree_);
    const std::vector<bool> allowed = Allowed(masks, {2 + 'a'});
    EXPECT_EQ(std::ranges::count(allowed, true), 1);
    EXPECT_TRUE(allowed[static_cast<size_t>(is_named ? control : 2 + '<')]);
    if (is_named) {
      EXPECT_TRUE(Allowed(masks, {2 + 'a', control})[2 + 'b']);
    }
  }
  const auto json = JsonSchemaGrammar(ordered_json::parse(R"({"type": "string"})"));
  ASSERT_TRUE(json.ok());
  TokenMasks masks(*json, tree_);
  const std::vector<bool> allowed = Allowed(masks, {2 + '"'});
  EXPECT_FALSE(allowed[static_cast<size_t>(control)]);
  EXPECT_FALSE(allowed[2 + TokenTree::kControlByte]);
  EXPECT_EQ(tree_->Spelled("x</s>"), "x\xff</s>\xff");
}

TEST_F(TokenMask, AGrammarWithinAnother) {
  const auto inner = ParseGbnf("root ::= \"(\" root? \")\"");
  ASSERT_TRUE(inner.ok());
  Grammar outer;
  const RuleId root = outer.AddRule();
  Sequence sequence = outer.Literal("x");
  sequence.push_back(outer.Include(**inner));
  outer.AddAlternative(root, sequence);
  ASSERT_TRUE(outer.Finish().ok());
  EXPECT_TRUE(MayFollow(outer, "x((", "))"));
  EXPECT_FALSE(MayFollow(outer, "x((", ")))"));
  EXPECT_FALSE(MayFollow(outer, "", "("));
}

// Every place of a long text has its own states: they are freed before they take all memory.
TEST_F(TokenMask, LongTextsOfALimitedLength) {
  const auto grammar =
      JsonSchemaGrammar(ordered_json::parse(R"({"type": "string", "maxLength": 4096})"));
  ASSERT_TRUE(grammar.ok());
  TokenMasks masks(*grammar, tree_);
  std::vector<int32_t> answer = {2 + '"'};
  for (int i = 0; i < 4096; ++i) {
    EXPECT_FALSE(masks.IsWhole(answer));
    answer.push_back(2 + 'x');
  }
  for (const size_t size : {1, 100, 2000, 4097}) {
    const std::vector<int32_t> begun(answer.begin(), answer.begin() + static_cast<ptrdiff_t>(size));
    const std::vector<bool> allowed = Allowed(masks, begun);
    EXPECT_EQ(allowed[2 + 'x'], size < answer.size()) << size;
    EXPECT_TRUE(allowed[2 + '"']) << size;
  }
  EXPECT_FALSE(masks.has_failed());
}

TEST_F(TokenMask, AGrammarThatCostsTooMuchForbidsEverything) {
  // Its beginning is easy: the ways come after the first byte.
  std::string gbnf = "root ::= \"a\" a0 \"x\"\n";
  for (int i = 0; i < 30; ++i) gbnf += fmt::format("a{0} ::= a{1} a{1}\n", i, i + 1);
  const auto grammar = ParseGbnf(gbnf + "a30 ::= \"\"\n");
  ASSERT_TRUE(grammar.ok());
  const auto cache = std::make_shared<MaskCache>(*grammar, tree_);
  EXPECT_FALSE(cache->has_failed());
  TokenMasks masks(cache);
  EXPECT_EQ(std::ranges::count(Allowed(masks, {2 + 'a'}), true), 0);
  EXPECT_TRUE(masks.has_failed());
}

TEST_F(TokenMask, AnswersOfOneRequestShareWhatIsKnown) {
  const auto grammar = JsonSchemaGrammar(ordered_json::parse(R"({"type": "object"})"));
  ASSERT_TRUE(grammar.ok());
  const auto cache = std::make_shared<MaskCache>(*grammar, tree_);
  TokenMasks first(cache);
  TokenMasks second(cache);
  const std::vector<int32_t> begun = {2 + '{', 2 + '"'};
  EXPECT_EQ(Allowed(first, begun), Allowed(second, begun));
  EXPECT_EQ(Allowed(first, {}), Allowed(second, {}));
  const size_t states = cache->matcher().state_count();
  EXPECT_EQ(Allowed(second, begun), Allowed(first, begun));
  EXPECT_EQ(cache->matcher().state_count(), states);
}

}  // namespace
}  // namespace aster::grammar
