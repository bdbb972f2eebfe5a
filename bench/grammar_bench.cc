// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What it costs, for each token, to forbid all that a grammar does not allow, in a vocabulary of
// 128,256 tokens: bytes, made-up words with and without a space, and what JSON puts around them. A
// document of many records is followed token by token, the longest token that fits each time.

#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "grammar/json_schema.h"
#include "grammar/token_mask.h"

namespace aster::grammar {
namespace {

constexpr size_t kTokenCount = 128'256;
constexpr size_t kLongestToken = 24;

std::string Word(Random& random) {
  constexpr std::string_view kSyllables[] = {"an",  "the", "con", "ing", "ra",  "lo", "si", "ter",
                                             "men", "ta",  "ve",  "no",  "pre", "ly", "os", "ick"};
  std::string word;
  const size_t count = 1 + random.NextBelow(4);
  for (size_t i = 0; i < count; ++i) word += kSyllables[random.NextBelow(std::size(kSyllables))];
  return word;
}

std::unique_ptr<text::Tokenizer> MakeTokenizer() {
  text::Vocab vocab;
  vocab.kind = text::VocabKind::kSentencePiece;
  std::set<std::string> known;
  const auto add = [&](const std::string& token, text::TokenType type) {
    if (vocab.tokens.size() == kTokenCount || !known.insert(token).second) return;
    vocab.tokens.push_back(token);
    vocab.types.push_back(type);
    vocab.scores.push_back(-static_cast<float>(vocab.tokens.size()));
  };
  add("<unk>", text::TokenType::kUnknown);
  add("</s>", text::TokenType::kControl);
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    add(std::string("<0x") + kHex[static_cast<size_t>(byte) / 16] +
            kHex[static_cast<size_t>(byte) % 16] + ">",
        text::TokenType::kByte);
  }
  Random random(1);
  constexpr std::string_view kAround[] = {"\"",  "\",",  "\":",    "\"},",  ": \"",
                                          "{\"", ", \"", "\": \"", "\", \""};
  for (const std::string_view around : kAround) add(std::string(around), text::TokenType::kNormal);
  for (int i = 0; i < 1000; ++i) add(std::to_string(i), text::TokenType::kNormal);
  while (vocab.tokens.size() < kTokenCount) {
    const std::string word = Word(random);
    add(word, text::TokenType::kNormal);
    add("\xe2\x96\x81" + word, text::TokenType::kNormal);
    // One in fifty of real vocabularies has a quote in it.
    if (random.NextBelow(25) == 0) {
      add(word + std::string(kAround[random.NextBelow(std::size(kAround))]),
          text::TokenType::kNormal);
    }
  }
  vocab.special.unk = 0;
  vocab.special.eos = 1;
  vocab.end_of_generation = {1};
  auto tokenizer = text::Tokenizer::Make(std::move(vocab));
  CHECK(tokenizer.ok());
  return *std::move(tokenizer);
}

const text::Tokenizer& SharedTokenizer() {
  static const std::unique_ptr<text::Tokenizer> kTokenizer = MakeTokenizer();
  return *kTokenizer;
}

std::string Document() {
  Random random(2);
  nlohmann::ordered_json records = nlohmann::ordered_json::array();
  for (int i = 0; i < 40; ++i) {
    std::string text;
    for (int j = 0; j < 12; ++j) text += Word(random) + " ";
    records.push_back({{"name", Word(random)},
                       {"size", random.NextBelow(100000)},
                       {"kind", i % 2 == 0 ? "city" : "country"},
                       {"text", text},
                       {"tags", {Word(random), Word(random)}}});
  }
  return nlohmann::ordered_json{{"records", records}}.dump();
}

std::vector<int32_t> Tokens(const TokenTree& tree, const std::string& document) {
  std::map<std::string_view, int32_t> by_bytes;
  for (uint32_t id = 0; id < tree.vocab_size(); ++id) {
    const std::string_view bytes = tree.BytesOf(static_cast<int32_t>(id));
    if (!bytes.empty()) by_bytes.emplace(bytes, static_cast<int32_t>(id));
  }
  std::vector<int32_t> ids;
  for (size_t at = 0; at < document.size();) {
    size_t size = std::min(kLongestToken, document.size() - at);
    while (!by_bytes.contains(std::string_view(document).substr(at, size))) --size;
    ids.push_back(by_bytes.at(std::string_view(document).substr(at, size)));
    at += size;
  }
  return ids;
}

void Masks(benchmark::State& state, const std::shared_ptr<const Grammar>& grammar) {
  const auto tree = std::make_shared<TokenTree>(SharedTokenizer(), kTokenCount);
  const std::vector<int32_t> ids = Tokens(*tree, Document());
  std::vector<float> logits(kTokenCount);
  for (auto _ : state) {
    // Everything anew, as for a new request.
    TokenMasks masks(grammar, tree);
    for (size_t i = 0; i < ids.size(); ++i) {
      state.PauseTiming();
      std::fill(logits.begin(), logits.end(), 1.0F);
      state.ResumeTiming();
      masks.Apply(std::span(ids).first(i), logits);
      CHECK(logits[static_cast<size_t>(ids[i])] == 1.0F);
    }
  }
  state.counters["tokens"] = static_cast<double>(ids.size());
  state.counters["token_time"] = benchmark::Counter(
      static_cast<double>(ids.size()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void AnyJson(benchmark::State& state) { Masks(state, JsonObjectGrammar()); }
void Schema(benchmark::State& state) {
  const auto schema = nlohmann::ordered_json::parse(
      R"({"type": "object", "properties": {"records": {"type": "array",
    "items": {"type": "object", "properties": {"name": {"type": "string"},
    "size": {"type": "integer"},
    "kind": {"enum": ["city", "country"]}, "text": {"type": "string"},
    "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["name", "size", "kind", "text", "tags"]}}},
    "required": ["records"]})");
  Masks(state, *JsonSchemaGrammar(schema));
}

BENCHMARK(AnyJson)->Unit(benchmark::kMillisecond);
BENCHMARK(Schema)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace aster::grammar

BENCHMARK_MAIN();
