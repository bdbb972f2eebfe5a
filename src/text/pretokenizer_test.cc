// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/pretokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "base/sanitized.h"
#include "text/pattern_for_test.h"
#include "text/random_text_for_test.h"

namespace aster::text {
namespace {

using testing::ElementsAre;

std::vector<std::string> PiecesOf(std::string_view name, std::string_view text) {
  const Pretokenizer* pretokenizer = FindPretokenizer(name);
  std::vector<std::string> pieces;
  if (pretokenizer == nullptr) {
    ADD_FAILURE() << name;
    return pieces;
  }
  Split(*pretokenizer, text, [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

// The patterns as the models publish them. A step's pattern cuts the pieces of the step before.
constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
    R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBailing = R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}|)"
                                      R"( ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kSeed =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}|)"
    R"( ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kJais2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|)"
    R"(\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})";
constexpr std::string_view kExaoneMoe =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kYoutuScripts =
    R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|[\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018})"
    R"(\x{2019}\x{2014}\x{FF1A}\x{FF1B}\x{FF0C}\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|[\x{3105})"
    R"(-\x{312F}]+|[\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr std::string_view kYoutuWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// PCRE2 has no intersection of classes; a lookahead before every character replaces it.
constexpr std::string_view kKimi =
    R"([\p{sc:Han}]+|[^\r\n\p{L}\p{N}]?(?:(?!\p{sc:Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])*)"
    R"((?:(?!\p{sc:Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}])+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?(?:(?!\p{sc:Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])+)"
    R"((?:(?!\p{sc:Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}])*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDeepseekLetters =
    R"(\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"
    R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A})"
    R"(\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556})"
    R"(\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF})"
    R"(\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D})"
    R"(\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-)"
    R"(\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC})"
    R"(\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC})"
    R"(\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128})"
    R"(\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E})"
    R"(\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3})"
    R"(\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E})"
    R"(\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A})"
    R"(\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-)"
    R"(\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)";
constexpr std::string_view kDeepseekV3Words =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kAsian =
    R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{8C48}-\x{D7FF}\x{E000}-\x{FAFF}\x{3040}-\x{309F})"
    R"(\x{30A0}-\x{30FF}\x{FF65}-\x{FF9F}\x{2F00}-\x{2FDF}\x{E40}-\x{E7F}\x{E80}-\x{EFF})"
    R"(\x{1780}-\x{17FF}\x{1000}-\x{109F}\x{AA60}-\x{AA7F}\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF})"
    R"(\x{1100}-\x{11FF}]+)";
constexpr std::string_view kBloom = " ?[^(\\s|.,!?…。，、।۔،)]+";
constexpr std::string_view kEveryIdeograph = R"([一-龥ࠀ-一\x{AC00}-\x{D7FF}]+)";

// The pattern has \b, but PCRE2 and the library used in training do not agree on words.
constexpr std::string_view kTinyAyaDigits =
    R"(\d{1,3}(?=(?:\d{3})*(?![\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}])))";

struct Family {
  std::string_view name;
  std::vector<std::string_view> patterns;
};

const std::vector<Family>& Families() {
  static const std::vector<Family> families = {
      {"gpt-2", {kGpt2}},
      {"llama-bpe", {kLlama3}},
      {"qwen2", {kQwen2}},
      {"qwen35", {kQwen35}},
      {"bailingmoe", {kBailing}},
      {"seed-coder", {kSeed}},
      {"jais-2", {kJais2}},
      {"exaone-moe", {kExaoneMoe}},
      {"gpt-4o", {kGpt4o}},
      {"tekken", {kTekken}},
      {"youtu", {kYoutuScripts, kYoutuWords}},
      {"kimi-k2", {kKimi}},
      {"deepseek-llm",
       {R"([\r\n])", kDeepseekLetters, R"(\s?[!-/:-~！-／：-～‘-‟　-。]+)", R"(\s+$)",
        kEveryIdeograph, R"(\p{N}+)"}},
      {"deepseek-coder",
       {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kEveryIdeograph, R"(\p{N})"}},
      {"deepseek-v3", {R"(\p{N}{1,3})", "[一-龥぀-ゟ゠-ヿ]+", kDeepseekV3Words}},
      {"afmoe", {R"(\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N})))", kAsian, kDeepseekV3Words}},
      {"starcoder", {R"(\p{N})", kGpt2}},
      {"falcon", {R"([\p{P}$+<=>^~|`]+)", kGpt2, "[0-9][0-9][0-9]"}},
      {"default", {R"([\p{P}$+<=>^~|]+)", kGpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
      {"tiny_aya", {kTinyAyaDigits, kGpt4o}},
      {"superbpe", {R"(\p{N}+)", R"((?=(\d{3})+(?!\d)))"}},
      {"bloom", {kBloom}},
      {"viking", {kBloom, R"(\p{N})"}},
      {"chameleon",
       {"<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", R"(([\t\n]|    |  ))",
        R"(\p{N})", R"([\p{P}!-/:-@\[-`{-~])", kGpt2}},
      {"gemma4", {R"([^\n]+|[\n]+)"}},
  };
  return families;
}

bool IsClearForPatterns(std::string_view text) {
  return text.find("\u180E") == std::string_view::npos;  // white space only in PCRE2
}

TEST(PretokenizerTest, CutsWhereThePublishedPatternsDo) {
  for (const Family& family : Families()) {
    std::vector<std::unique_ptr<PatternForTest>> patterns;
    for (const std::string_view pattern : family.patterns) {
      patterns.push_back(std::make_unique<PatternForTest>(pattern));
    }
    RandomText random(1);
    for (int i = 0; i < 4000; ++i) {
      const std::string text = random.Next();
      if (!IsClearForPatterns(text)) continue;
      std::vector<std::string> expected = {text};
      for (const auto& pattern : patterns) {
        std::vector<std::string> finer;
        for (const std::string& piece : expected) {
          size_t begin = 0;
          for (const size_t end : pattern->Isolate(piece)) {
            finer.push_back(piece.substr(begin, end - begin));
            begin = end;
          }
        }
        expected = std::move(finer);
      }
      ASSERT_EQ(PiecesOf(family.name, text), expected) << family.name << " of \"" << text << '"';
    }
  }
}

TEST(PretokenizerTest, EveryNameIsFoundAndKeepsEveryByte) {
  RandomText random(2);
  size_t names = 0;
  const std::string all = PretokenizerNames();
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find(", ", begin), all.size());
    const std::string name = all.substr(begin, end - begin);
    begin = end + 2;
    ++names;
    for (int i = 0; i < 200; ++i) {
      const std::string text = i % 2 == 0 ? random.NextBytes(60) : random.Next();
      std::string joined;
      for (const std::string& piece : PiecesOf(name, text)) {
        ASSERT_FALSE(piece.empty()) << name;
        joined += piece;
      }
      ASSERT_EQ(joined, text) << name;
    }
  }
  EXPECT_GE(names, 70U);
}

TEST(PretokenizerTest, UnknownNamesAreUnknown) {
  for (const std::string_view name : {"", "gpt", "gpt-", "gpt-22", "LLAMA3", "zzz", "a"}) {
    EXPECT_EQ(FindPretokenizer(name), nullptr) << name;
  }
}

TEST(PretokenizerTest, Examples) {
  EXPECT_THAT(PiecesOf("gpt-2", "I'll  go\n"), ElementsAre("I", "'ll", " ", " go", "\n"));
  EXPECT_THAT(PiecesOf("llama3", "I'LL pay 12345!\n\n x"),
              ElementsAre("I", "'LL", " pay", " ", "123", "45", "!\n\n", " x"));
  EXPECT_THAT(PiecesOf("gpt-4o", "ПриветМир HTTPServer's"),
              ElementsAre("Привет", "Мир", " HTTPServer's"));
  EXPECT_THAT(PiecesOf("joyai-llm", "a~~b 1234 漢字 c"),
              ElementsAre("a", "~~", "b", " ", "123", "4", " ", "漢字", " c"));
}

// A text of one repeated character, or of two alternating ones, reaches the special cases of a
// pattern again and again.
TEST(PretokenizerTest, LinearInWhateverTheTextHolds) {
  constexpr size_t kBytes = size_t{1} << (kSanitized ? 13 : 15);
  for (const Family& family : Families()) {
    for (const std::string_view unit :
         {"a",  "A",  " ",      "\n", "\t",      "1",          "'",       "\u0301",
          "中", "🦙", "\xFF",   "~",  " \u3000", "aA",         "A\u0301", " \n",
          "1 ", "'s", "\u00a0", "١",  "IMG",     "<sentinel:", "a "}) {
      std::string text;
      while (text.size() < kBytes) text += unit;
      for (const std::string_view end : {"", "x"}) {
        const std::string whole = text + std::string(end);
        size_t bytes = 0;
        Split(*FindPretokenizer(family.name), whole,
              [&](std::string_view piece) { bytes += piece.size(); });
        // If the time were quadratic, the test would not end within its time limit.
        EXPECT_EQ(bytes, whole.size()) << family.name << " of many \"" << unit << '"';
      }
    }
  }
}

TEST(PretokenizerTest, ABadByteIsASymbolOfItsOwn) {
  EXPECT_THAT(PiecesOf("gpt-2", "ab\xFF\xFE cd"), ElementsAre("ab", "\xFF\xFE", " cd"));
  EXPECT_THAT(PiecesOf("llama3", "ab\xE2\x82 cd"), ElementsAre("ab", "\xE2\x82", " cd"));
}

}  // namespace
}  // namespace aster::text
