// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The cost, per token, of excluding everything that a grammar does not allow, in a vocabulary of
// 128,256 tokens: bytes, made-up words with and without a space, and the punctuation of JSON. A
// document of many records is followed token by token, with the longest token that fits: under a
// grammar of any JSON, of a plain schema, and of schemas that restrict each value further.

#include <benchmark/benchmark.h>

#include <functional>
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
    // In real vocabularies, one token in fifty has a quote in it.
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

using nlohmann::ordered_json;

std::string Document(const std::function<ordered_json(Random&)>& make_record) {
  Random random(2);
  ordered_json records = ordered_json::array();
  for (int i = 0; i < 40; ++i) records.push_back(make_record(random));
  return ordered_json{{"records", records}}.dump();
}

ordered_json PlainRecord(Random& random) {
  std::string text;
  for (int j = 0; j < 12; ++j) text += Word(random) + " ";
  return {{"name", Word(random)},
          {"size", random.NextBelow(100000)},
          {"kind", random.NextBelow(2) == 0 ? "city" : "country"},
          {"text", text},
          {"tags", {Word(random), Word(random)}}};
}

// Records whose every member is required.
std::shared_ptr<const Grammar> RecordsGrammar(const ordered_json& properties) {
  ordered_json required = ordered_json::array();
  for (const auto& [name, schema] : properties.items()) required.push_back(name);
  const ordered_json record = {
      {"type", "object"}, {"properties", properties}, {"required", required}};
  const ordered_json schema = {
      {"type", "object"},
      {"properties", {{"records", {{"type", "array"}, {"items", record}}}}},
      {"required", ordered_json::array({"records"})}};
  // The schema is parsed from text, as one from a client is: then numbers that are not negative are
  // unsigned.
  auto grammar = JsonSchemaGrammar(ordered_json::parse(schema.dump()));
  CHECK(grammar.ok());
  return *std::move(grammar);
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

void Masks(benchmark::State& state, const std::shared_ptr<const Grammar>& grammar,
           const std::function<ordered_json(Random&)>& make_record) {
  const auto tree = std::make_shared<TokenTree>(SharedTokenizer(), kTokenCount);
  const std::vector<int32_t> ids = Tokens(*tree, Document(make_record));
  std::vector<float> logits(kTokenCount);
  for (auto _ : state) {
    // The masks are made from scratch, as for a new request.
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

void AnyJson(benchmark::State& state) { Masks(state, JsonObjectGrammar(), PlainRecord); }

void Schema(benchmark::State& state) {
  Masks(state,
        RecordsGrammar({{"name", {{"type", "string"}}},
                        {"size", {{"type", "integer"}}},
                        {"kind", {{"enum", {"city", "country"}}}},
                        {"text", {{"type", "string"}}},
                        {"tags", {{"type", "array"}, {"items", {{"type", "string"}}}}}}),
        PlainRecord);
}

void Patterns(benchmark::State& state) {
  Masks(
      state,
      RecordsGrammar({{"slug", {{"type", "string"}, {"pattern", "^[a-z]+(-[a-z]+)*$"}}},
                      {"code", {{"type", "string"}, {"pattern", "^[A-Z]{2}[0-9]{4,6}(/[0-9]+)?$"}}},
                      {"text", {{"type", "string"}, {"pattern", "^([^<>]|<b>|</b>)*$"}}},
                      {"note", {{"type", "string"}, {"minLength", 10}, {"maxLength", 80}}}}),
      [](Random& random) -> ordered_json {
        return {{"slug", Word(random) + "-" + Word(random)},
                {"code", "QX" + std::to_string(10000 + random.NextBelow(90000)) + "/17"},
                {"text", "<b>" + Word(random) + "</b> " + Word(random) + " " + Word(random)},
                {"note", Word(random) + " " + Word(random) + " and the other"}};
      });
}

void Bounds(benchmark::State& state) {
  Masks(state,
        RecordsGrammar(
            {{"small", {{"type", "integer"}, {"minimum", 1}, {"maximum", 365}}},
             {"large", {{"type", "integer"}, {"minimum", -123456789}, {"maximum", 987654321}}},
             {"latitude", {{"type", "number"}, {"minimum", -90}, {"maximum", 90}}},
             {"price", {{"type", "number"}, {"exclusiveMinimum", 0}, {"multipleOf", 0.01}}},
             {"even", {{"type", "integer"}, {"multipleOf", 2}}}}),
        [](Random& random) -> ordered_json {
          return {{"small", 1 + random.NextBelow(365)},
                  {"large", random.NextBelow(900000000)},
                  {"latitude", static_cast<double>(random.NextBelow(90000)) / 1024},
                  {"price", static_cast<double>(1 + random.NextBelow(100)) / 4},
                  {"even", 2 * random.NextBelow(5000)}};
        });
}

void Formats(benchmark::State& state) {
  const auto two = [](Random& random, uint64_t first, uint64_t count) {
    return std::to_string(100 + first + random.NextBelow(count)).substr(1);
  };
  Masks(state,
        RecordsGrammar({{"when", {{"type", "string"}, {"format", "date-time"}}},
                        {"day", {{"type", "string"}, {"format", "date"}}},
                        {"id", {{"type", "string"}, {"format", "uuid"}}},
                        {"from", {{"type", "string"}, {"format", "ipv4"}}},
                        {"mail", {{"type", "string"}, {"format", "email"}}}}),
        [two](Random& random) -> ordered_json {
          const std::string day =
              "20" + two(random, 0, 99) + "-" + two(random, 1, 12) + "-" + two(random, 1, 28);
          const std::string four = std::to_string(1000 + random.NextBelow(9000));
          return {{"when", day + "T" + two(random, 0, 24) + ":" + two(random, 0, 60) + ":" +
                               two(random, 0, 60) + "Z"},
                  {"day", day},
                  {"id", four + "a1b2-" + four + "-4c3d-8e5f-0" + four + "abcdef1"},
                  {"from", "192.168." + std::to_string(random.NextBelow(256)) + ".7"},
                  {"mail", Word(random) + "@" + Word(random) + ".example"}};
        });
}

void LargeEnum(benchmark::State& state) {
  Random random(3);
  ordered_json names = ordered_json::array();
  std::set<std::string> known;
  while (names.size() < 2000) {
    const std::string name = Word(random) + " " + Word(random);
    if (known.insert(name).second) names.push_back(name);
  }
  Masks(state, RecordsGrammar({{"first", {{"enum", names}}}, {"second", {{"enum", names}}}}),
        [&](Random& chance) -> ordered_json {
          return {{"first", names[chance.NextBelow(names.size())]},
                  {"second", names[chance.NextBelow(names.size())]}};
        });
}

BENCHMARK(Patterns)->Unit(benchmark::kMillisecond);
BENCHMARK(Bounds)->Unit(benchmark::kMillisecond);
BENCHMARK(Formats)->Unit(benchmark::kMillisecond);
BENCHMARK(LargeEnum)->Unit(benchmark::kMillisecond);
BENCHMARK(AnyJson)->Unit(benchmark::kMillisecond);
BENCHMARK(Schema)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace aster::grammar

BENCHMARK_MAIN();
