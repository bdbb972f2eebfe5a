// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/folders_for_test.h"
#include "gguf/raw_file_for_test.h"

namespace aster::gguf {
namespace {

TEST(File, ReadsASmallFile) {
  const RawFile raw = SmallRawFile();
  const auto file = File::Parse(raw.bytes());
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(file->metadata().size(), 2u);
  EXPECT_EQ(*file->metadata().Get<uint64_t>("llama.block_count"), 7u);
  EXPECT_EQ(*file->metadata().Get<std::string_view>("general.architecture"), "llama");
  ASSERT_EQ(file->tensors().size(), 2u);
  const Tensor* a = file->FindTensor("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->data.size(), 32u);
  EXPECT_EQ(a->data[0], 1);
  EXPECT_EQ(ShapeText(*a), "[4, 2]");
  const Tensor* b = file->FindTensor("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->data.size(), 34u);
  EXPECT_EQ(b->data[33], 2);
  EXPECT_EQ(file->FindTensor("c"), nullptr);
}

TEST(File, ReadsVersion2) {
  RawFile raw;
  raw.Header(0, 1, /*version=*/2).Key("k", ValueType::kBool, uint8_t{1});
  const auto file = File::Parse(raw.bytes());
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ(file->version(), 2u);
  EXPECT_TRUE(*file->metadata().Get<bool>("k"));
}

TEST(File, AHeadAlone) {
  const RawFile raw = SmallRawFile();
  const auto whole = File::Parse(raw.bytes());
  ASSERT_TRUE(whole.ok());
  const std::vector<uint8_t> head(whole->head().begin(), whole->head().end());
  EXPECT_EQ(head.size(), whole->data_offset());
  const auto file = File::ParseHead(head, raw.bytes().size());
  ASSERT_TRUE(file.ok()) << file.error().message();
  ASSERT_EQ(file->tensors().size(), 2u);
  EXPECT_EQ(file->FindTensor("b")->offset, whole->FindTensor("b")->offset);
  EXPECT_TRUE(file->FindTensor("b")->data.empty());
  EXPECT_EQ(file->size_bytes(), raw.bytes().size());
  // Its tensors must fit into a file of that size.
  EXPECT_FALSE(File::ParseHead(head, raw.bytes().size() - 1).ok());
  EXPECT_FALSE(File::ParseHead({head.begin(), head.end() - 40}, raw.bytes().size()).ok());
}

TEST(File, PartOfTheData) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const RawFile raw = SmallRawFile();
  const auto whole = File::Parse(raw.bytes());
  const std::vector<uint8_t> head(whole->head().begin(), whole->head().end());
  std::vector<uint8_t> data(raw.bytes().begin(), raw.bytes().end());
  std::fill_n(data.begin(), head.size(), uint8_t{0});
  ASSERT_TRUE(WriteFileAtomically(folder.File("data"), data).ok());
  auto opened = File::OpenPartial(head, folder.File("data"), [](size_t i) { return i == 1; });
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  // Views stay valid when the file moves.
  const File file = *std::move(opened);
  EXPECT_EQ(file.tensors().size(), 1u);
  EXPECT_EQ(file.FindTensor("a"), nullptr);
  EXPECT_EQ(file.FindTensor("b")->data[33], 2);
  EXPECT_EQ(*file.metadata().Get<uint64_t>("llama.block_count"), 7u);
  EXPECT_TRUE(std::ranges::equal(file.head(), head));
  ASSERT_TRUE(WriteFileAtomically(folder.File("short"), Bytes(data).first(data.size() - 1)).ok());
  EXPECT_FALSE(File::OpenPartial(head, folder.File("short"), [](size_t) { return true; }).ok());
}

struct VocabFile {
  const char* name;
  size_t token_count;
  const char* model;
};

TEST(File, ReadsRealVocabularies) {
  const std::string folder = ASTER_SHARED_DIR "/data/vocab/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " does not exist";
  for (const VocabFile& vocab :
       {VocabFile{"deepseek-llm", 102400, "gpt2"}, VocabFile{"gpt-2", 50257, "gpt2"},
        VocabFile{"llama-spm", 32000, "llama"}, VocabFile{"starcoder", 49152, "gpt2"}}) {
    const auto file = File::Open(folder + "ggml-vocab-" + vocab.name + ".gguf");
    ASSERT_TRUE(file.ok()) << file.error().message();
    const Metadata& metadata = file->metadata();
    EXPECT_EQ(*metadata.Get<std::string>("tokenizer.ggml.model"), vocab.model);
    const auto tokens = metadata.Get<Array>("tokenizer.ggml.tokens");
    ASSERT_TRUE(tokens.ok()) << tokens.error().message();
    EXPECT_EQ(tokens->size(), vocab.token_count);
    size_t walked = 0;
    const auto strings = tokens->Strings();
    for (const std::string_view token : *strings) walked += !token.empty();
    EXPECT_EQ(walked, vocab.token_count);
    EXPECT_EQ(metadata.Get<std::vector<int32_t>>("tokenizer.ggml.token_type")->size(),
              vocab.token_count);
  }
}

}  // namespace
}  // namespace aster::gguf
