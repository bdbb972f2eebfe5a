// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How fast text becomes tokens and tokens become text, on one core. No file is needed: vocabulary
// and text are made here, roughly like English. Words are made of syllables, the most common words
// are short, and words are drawn by Zipf's law (the n-th is n times rarer than the first); the
// vocabulary has 128,256 tokens, which are the most common words and their beginnings, so that rare
// words take several.
//
// For figures of a real model: ASTER_BENCH_MODEL=model.gguf ASTER_BENCH_TEXT=text.txt.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "gguf/file.h"
#include "text/byte_letters.h"
#include "text/tokenizer.h"
#include "text/vocab_reader.h"

namespace aster::text {
namespace {

constexpr size_t kTokenCount = 128'256;
constexpr size_t kWordCount = 120'000;
constexpr size_t kTextBytes = size_t{4} << 20;
constexpr size_t kHostileBytes = size_t{1} << 20;

// The most common word first.
std::vector<std::string> MakeWords() {
  constexpr std::string_view kOnsets[] = {"",   "b",  "c",  "d",  "f",  "g",   "h",  "l",
                                          "m",  "n",  "p",  "r",  "s",  "t",   "w",  "th",
                                          "st", "pr", "ch", "sh", "tr", "con", "re", "in"};
  constexpr std::string_view kRhymes[] = {"a",  "e",  "i",  "o",   "an", "en",  "in",  "on",
                                          "er", "at", "al", "is",  "ed", "or",  "ing", "ent",
                                          "es", "ar", "it", "ion", "ly", "ast", "ic",  "ous"};
  Random random(1);
  std::vector<std::string> words;
  std::set<std::string> known;
  while (words.size() < kWordCount) {
    // There are few short words, so later ones get longer.
    const size_t longest = words.size() < 200 ? 1 : words.size() < 5'000 ? 2 : 4;
    const size_t syllables = 1 + random.NextBelow(longest);
    std::string word;
    for (size_t i = 0; i < syllables; ++i) {
      word += kOnsets[random.NextBelow(std::size(kOnsets))];
      word += kRhymes[random.NextBelow(std::size(kRhymes))];
    }
    if (known.insert(word).second) words.push_back(word);
  }
  return words;
}

const std::vector<std::string>& Words() {
  static const std::vector<std::string> words = MakeWords();
  return words;
}

std::string MakeText(size_t size_bytes) {
  Random random(2);
  std::string text;
  bool starts_sentence = true;
  while (text.size() < size_bytes) {
    // A rank whose logarithm is uniform gives Zipf's law.
    const double rank = std::pow(static_cast<double>(kWordCount), random.NextDouble()) - 1;
    std::string word = Words()[static_cast<size_t>(rank)];
    if (starts_sentence) word[0] = static_cast<char>(std::toupper(word[0]));
    if (random.NextBelow(60) == 0) word = fmt::format("{}", random.NextBelow(3000));
    starts_sentence = random.NextBelow(14) == 0;
    text += word;
    text += starts_sentence ? (random.NextBelow(5) == 0 ? ".\n\n" : ". ")
                            : (random.NextBelow(10) == 0 ? ", " : " ");
  }
  return text;
}

std::string FileContent(const char* path) {
  std::ifstream in(path, std::ios::binary);
  CHECK_NOTE(in.is_open(), path);
  std::stringstream content;
  content << in.rdbuf();
  return content.str();
}

const std::string& Text() {
  static const std::string text = [] {
    const char* path = std::getenv("ASTER_BENCH_TEXT");
    return path == nullptr ? MakeText(kTextBytes) : FileContent(path);
  }();
  return text;
}

// Collects tokens up to a size; Add returns false if the token is known or the vocabulary full.
class VocabMaker {
 public:
  explicit VocabMaker(size_t size) : size_(size) {}

  bool Add(const std::string& token, TokenType type = TokenType::kNormal) {
    if (full() || !known_.insert(token).second) return false;
    vocab_.tokens.push_back(token);
    vocab_.types.push_back(type);
    vocab_.scores.push_back(-static_cast<float>(vocab_.tokens.size()));
    return true;
  }
  bool full() const { return vocab_.tokens.size() >= size_; }
  Vocab& vocab() { return vocab_; }

 private:
  const size_t size_;
  std::set<std::string> known_;
  Vocab vocab_;
};

Vocab MakeByteLevelVocab(std::string_view pretokenizer) {
  VocabMaker maker(kTokenCount);
  maker.vocab().kind = VocabKind::kByteLevelBpe;
  maker.vocab().pretokenizer = pretokenizer;
  for (int byte = 0; byte < 256; ++byte) {
    const auto c = static_cast<char>(byte);
    maker.Add(LettersOfBytes({&c, 1}));
  }
  const auto add_merges_of = [&maker](std::string_view word) {
    std::string left = LettersOfBytes(word.substr(0, 1));
    for (const char c : word.substr(1)) {
      const std::string right = LettersOfBytes({&c, 1});
      if (maker.Add(left + right)) maker.vocab().merges.push_back(left + " " + right);
      left += right;
    }
  };
  for (const std::string_view run :
       {"  ", "        ", "\n\n", "....", "====", "aaaa", "\u0301\u0301"}) {
    add_merges_of(run);
  }
  for (size_t i = 0; i < Words().size() && !maker.full(); ++i) {
    add_merges_of(" " + Words()[i]);
    if (i % 4 == 0) add_merges_of(Words()[i]);
  }
  return maker.vocab();
}

Vocab MakeSentencePieceVocab() {
  VocabMaker maker(kTokenCount);
  maker.vocab().kind = VocabKind::kSentencePiece;
  maker.Add("<unk>", TokenType::kUnknown);
  for (int byte = 0; byte < 256; ++byte)
    maker.Add(fmt::format("<0x{:02X}>", byte), TokenType::kByte);
  for (char c = '!'; c <= '~'; ++c) maker.Add(std::string(1, c));
  maker.Add(std::string(kSpaceLetter));
  for (const std::string& word : Words()) {
    for (size_t size = 0; size <= word.size() && !maker.full(); ++size) {
      maker.Add(std::string(kSpaceLetter) + word.substr(0, size));
      if (size > 0) maker.Add(word.substr(0, size));
    }
  }
  maker.vocab().special.unk = 0;
  return maker.vocab();
}

Vocab ReadModelVocab(const char* path) {
  const auto file = gguf::File::Open(path);
  CHECK_NOTE(file.ok(), path);
  auto vocab = ReadVocab(file->metadata());
  CHECK_NOTE(vocab.ok(), path);
  return *std::move(vocab);
}

// `name` is that of a pre-tokenizer, or "sentencepiece". A tokenizer lives as long as one
// benchmark.
std::unique_ptr<Tokenizer> MakeTokenizer(std::string_view name) {
  Vocab vocab;
  if (name == "sentencepiece") {
    vocab = MakeSentencePieceVocab();
  } else if (const char* path = std::getenv("ASTER_BENCH_MODEL"); path != nullptr) {
    vocab = ReadModelVocab(path);
    vocab.pretokenizer = name;
  } else {
    vocab = MakeByteLevelVocab(name);
  }
  return Tokenizer::Make(std::move(vocab)).value();
}

void Encode(benchmark::State& state, std::string_view name, const std::string& text) {
  const auto tokenizer = MakeTokenizer(name);
  size_t tokens = 0;
  for (auto _ : state) tokens = tokenizer->Encode(text, {}).value().size();
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
  state.counters["tokens"] = static_cast<double>(tokens);
  state.counters["bytes/token"] = static_cast<double>(text.size()) / static_cast<double>(tokens);
}

void BM_EncodeEnglish(benchmark::State& state, const char* name) { Encode(state, name, Text()); }
BENCHMARK_CAPTURE(BM_EncodeEnglish, gpt_2, "gpt-2")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_EncodeEnglish, llama_bpe, "llama-bpe")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_EncodeEnglish, qwen2, "qwen2")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_EncodeEnglish, deepseek_llm, "deepseek-llm")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_EncodeEnglish, joyai_llm, "joyai-llm")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_EncodeEnglish, gpt_4o, "gpt-4o")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_EncodeEnglish, sentencepiece, "sentencepiece")->Unit(benchmark::kMillisecond);

// A megabyte of one repeated text: the slowest of them is the most that a client can cost a server.
void BM_EncodeHostile(benchmark::State& state, const char* name, const char* unit) {
  std::string text;
  while (text.size() < kHostileBytes) text += unit;
  Encode(state, name, text);
}
BENCHMARK_CAPTURE(BM_EncodeHostile, letters, "llama-bpe", "a")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_EncodeHostile, spaces, "llama-bpe", " ")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_EncodeHostile, marks, "llama-bpe", "\u0301")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_EncodeHostile, emoji, "llama-bpe", "🦙")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_EncodeHostile, bad_bytes, "llama-bpe", "\xFF")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_EncodeHostile, word, "sentencepiece", "then")->Unit(benchmark::kMillisecond);

void BM_Decode(benchmark::State& state) {
  const auto tokenizer = MakeTokenizer("llama-bpe");
  const auto ids = tokenizer->Encode(Text(), {}).value();
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer->Decode(ids, {}).value());
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(Text().size()));
}
BENCHMARK(BM_Decode)->Unit(benchmark::kMillisecond);

void BM_StreamDecode(benchmark::State& state) {
  const auto tokenizer = MakeTokenizer("llama-bpe");
  const auto ids = tokenizer->Encode(Text().substr(0, size_t{1} << 18), {}).value();
  for (auto _ : state) {
    StreamDecoder decoder(*tokenizer, {});
    std::string text;
    for (const TokenId id : ids) CHECK(decoder.Push(id, text).ok());
    benchmark::DoNotOptimize(text);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(ids.size()));
}
BENCHMARK(BM_StreamDecode)->Unit(benchmark::kMillisecond);

// The start-up cost of a model: preparing 128,256 tokens and their merges.
void BM_MakeTokenizer(benchmark::State& state) {
  const Vocab vocab = MakeByteLevelVocab("llama-bpe");
  for (auto _ : state) benchmark::DoNotOptimize(Tokenizer::Make(vocab).value());
}
BENCHMARK(BM_MakeTokenizer)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace aster::text

BENCHMARK_MAIN();
