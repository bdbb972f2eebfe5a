// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Vocabularies of real models, with texts and their known tokens. They are not part of the project;
// if they are missing, nothing is tested.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/folders_for_test.h"
#include "gguf/file.h"
#include "text/random_text_for_test.h"
#include "text/tokenizer.h"
#include "text/vocab_reader.h"

namespace aster::text {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> VocabPaths() {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(ASTER_SHARED_DIR "/data/vocab", error)) {
    if (entry.path().extension() == ".gguf") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

Result<std::unique_ptr<Tokenizer>> OpenTokenizer(const std::string& path) {
  const gguf::File file = TRY(gguf::File::Open(path));
  return Tokenizer::Make(TRY(ReadVocab(file.metadata())));
}

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  return content.str();
}

// The texts are between separator lines; the newlines around these do not belong to texts.
std::vector<std::string> TextsOf(const std::string& content) {
  constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = std::min(content.find(kSeparator, begin), content.size());
    texts.push_back(content.substr(begin, end - begin));
    begin = end + kSeparator.size();
  }
  return texts;
}

std::vector<TokenId> IdsOf(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<TokenId>(in), {}};
}

TEST(RealVocabTest, KnownTextsBecomeKnownTokens) {
  if (VocabPaths().empty()) GTEST_SKIP() << "there are no vocabularies in " ASTER_SHARED_DIR;
  for (const std::string& path : VocabPaths()) {
    const auto tokenizer = OpenTokenizer(path);
    ASSERT_TRUE(tokenizer.ok()) << path << ": " << tokenizer.error().message();
    const std::vector<std::string> texts = TextsOf(ReadAll(path + ".inp"));
    std::istringstream lines(ReadAll(path + ".out"));
    for (const std::string& text : texts) {
      std::string line;
      ASSERT_TRUE(std::getline(lines, line)) << path;
      const auto ids = (*tokenizer)->Encode(text, {});
      ASSERT_TRUE(ids.ok());
      EXPECT_EQ(*ids, IdsOf(line)) << path << ": \"" << text << '"';
    }
    EXPECT_GE(texts.size(), 40U) << path;
  }
}

TEST(RealVocabTest, EveryTextComesBack) {
  if (VocabPaths().empty()) GTEST_SKIP() << "there are no vocabularies in " ASTER_SHARED_DIR;
  for (const std::string& path : VocabPaths()) {
    const auto tokenizer = OpenTokenizer(path);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message();
    const std::bitset<256>& missing = (*tokenizer)->missing_bytes();
    RandomText random(7);
    size_t compared = 0;
    for (int i = 0; i < 3000; ++i) {
      const std::string text = i % 3 == 0   ? random.NextBytes(20)
                               : i % 3 == 1 ? random.Next()
                                            : random.NextAnyUnicode();
      const bool is_complete = std::ranges::none_of(
          text, [&](char byte) { return missing[static_cast<uint8_t>(byte)]; });
      if (!is_complete || text.find(kSpaceLetter) != std::string::npos) continue;
      const auto ids = (*tokenizer)->Encode(text, {.parse_special = i % 2 == 0});
      ASSERT_TRUE(ids.ok());
      ASSERT_EQ(*(*tokenizer)->Decode(*ids, {}), text) << path;
      ++compared;
    }
    EXPECT_GT(compared, 1500U) << path;
  }
}

}  // namespace
}  // namespace aster::text
