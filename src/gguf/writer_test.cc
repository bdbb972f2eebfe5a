// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/writer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/files.h"
#include "gguf/file.h"

namespace aster::gguf {
namespace {

using ::testing::HasSubstr;

std::vector<uint8_t> Pattern(size_t size, uint32_t seed) {
  std::vector<uint8_t> bytes(size);
  uint32_t state = seed * 2654435761U + 1;
  for (uint8_t& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<uint8_t>(state >> 24);
  }
  return bytes;
}

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

template <typename T>
void ExpectExtremesSurvive(const std::string& path) {
  MetadataBuilder metadata;
  const std::vector<T> values = {std::numeric_limits<T>::lowest(), T(0), T(1),
                                 std::numeric_limits<T>::max()};
  for (size_t i = 0; i < values.size(); ++i) metadata.Set(fmt::format("k{}", i), T(values[i]));
  metadata.Set("all", values);
  auto writer = Writer::Create(path, metadata, {});
  ASSERT_TRUE(writer.ok()) << writer.error().message();
  ASSERT_TRUE(writer->Finish().ok());
  const auto file = File::Open(path);
  ASSERT_TRUE(file.ok()) << file.error().message();
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(file->metadata().Find(fmt::format("k{}", i))->type(), ValueTypeOf<T>());
    EXPECT_EQ(*file->metadata().Get<T>(fmt::format("k{}", i)), values[i]);
  }
  EXPECT_EQ(*file->metadata().Get<std::vector<T>>("all"), values);
}

TEST(Writer, EveryNumberTypeSurvives) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const std::string path = folder.File("numbers.gguf");
  ExpectExtremesSurvive<uint8_t>(path);
  ExpectExtremesSurvive<int8_t>(path);
  ExpectExtremesSurvive<uint16_t>(path);
  ExpectExtremesSurvive<int16_t>(path);
  ExpectExtremesSurvive<uint32_t>(path);
  ExpectExtremesSurvive<int32_t>(path);
  ExpectExtremesSurvive<uint64_t>(path);
  ExpectExtremesSurvive<int64_t>(path);
  ExpectExtremesSurvive<float>(path);
  ExpectExtremesSurvive<double>(path);
  ExpectExtremesSurvive<bool>(path);
}

TEST(Writer, StringsAndArraysSurvive) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const std::string path = folder.File("strings.gguf");
  const std::vector<std::string> words = {"", "a", std::string("\0\xFF\n", 3), "日本"};
  MetadataBuilder metadata;
  metadata.Set("s", words[3]);
  metadata.Set("empty", "");
  metadata.Set("words", words);
  metadata.Set("none", std::vector<float>());
  const std::vector<EncodedArray> rows = {EncodedArray::OfStrings(std::span(words)),
                                          EncodedArray::Of<int16_t>(std::vector<int16_t>{-3, 4})};
  metadata.Set("nested", EncodedArray::OfArrays(rows));
  auto writer = Writer::Create(path, metadata, {});
  ASSERT_TRUE(writer.ok()) << writer.error().message();
  ASSERT_TRUE(writer->Finish().ok());

  const auto file = File::Open(path);
  ASSERT_TRUE(file.ok()) << file.error().message();
  const Metadata& read = file->metadata();
  EXPECT_EQ(*read.Get<std::string>("s"), words[3]);
  EXPECT_EQ(*read.Get<std::string>("empty"), "");
  EXPECT_EQ(*read.Get<std::vector<std::string>>("words"), words);
  EXPECT_TRUE(read.Get<std::vector<float>>("none")->empty());
  const std::vector<Value> nested = read.Get<Array>("nested")->First(5);
  ASSERT_EQ(nested.size(), 2u);
  EXPECT_EQ(*nested[0].As<std::vector<std::string>>(), words);
  EXPECT_EQ(*nested[1].As<std::vector<int>>(), (std::vector<int>{-3, 4}));
}

TEST(Writer, EveryTensorTypeSurvives) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const std::string path = folder.File("types.gguf");
  std::vector<TensorSpec> specs;
  for (const TensorTypeInfo& info : KnownTensorTypes()) {
    specs.push_back({std::string(info.name), info.type, {info.block_elements * 3ULL, 2, 2}});
  }
  MetadataBuilder metadata;
  metadata.Set("general.alignment", uint32_t{64});
  auto writer = Writer::Create(path, metadata, specs);
  ASSERT_TRUE(writer.ok()) << writer.error().message();
  for (size_t i = 0; i < specs.size(); ++i) {
    const auto bytes = Pattern(*TensorBytes(specs[i].type, specs[i].dims), i);
    const size_t half = bytes.size() / 2;
    ASSERT_TRUE(writer->Append(specs[i].name, std::span(bytes).first(half)).ok());
    ASSERT_TRUE(writer->Append(specs[i].name, std::span(bytes).subspan(half)).ok());
  }
  const uint64_t file_bytes = writer->file_bytes();
  ASSERT_TRUE(writer->Finish().ok());

  const auto file = File::Open(path);
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ(file->size_bytes(), file_bytes);
  EXPECT_EQ(file->alignment(), 64u);
  ASSERT_EQ(file->tensors().size(), specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    const Tensor& tensor = file->tensors()[i];
    EXPECT_EQ(tensor.name, specs[i].name);
    EXPECT_EQ(tensor.type, specs[i].type);
    EXPECT_EQ(tensor.offset % 64, 0u);
    EXPECT_TRUE(std::ranges::equal(tensor.shape(), specs[i].dims));
    EXPECT_TRUE(std::ranges::equal(tensor.data, Pattern(tensor.data.size(), i)));
  }
}

TEST(Writer, CopiesMetadataWithChanges) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  MetadataBuilder first;
  first.Set("a", uint32_t{1});
  first.Set("drop.one", true);
  first.Set("b", "text");
  first.Set("drop.two", std::vector<std::string>{"x"});
  first.Set("gone", 1.5F);
  ASSERT_TRUE(Writer::Create(folder.File("a.gguf"), first, {})->Finish().ok());
  const auto source = File::Open(folder.File("a.gguf"));
  ASSERT_TRUE(source.ok()) << source.error().message();

  MetadataBuilder second;
  second.CopyAll(source->metadata());
  second.Set("a", int64_t{-1});
  second.RemovePrefix("drop.");
  second.Remove("gone");
  second.Remove("never there");
  second.Set("c", uint8_t{3});
  EXPECT_THAT(second.keys(), ::testing::ElementsAre("a", "b", "c"));
  ASSERT_TRUE(Writer::Create(folder.File("b.gguf"), second, {})->Finish().ok());
  const auto copy = File::Open(folder.File("b.gguf"));
  ASSERT_TRUE(copy.ok()) << copy.error().message();
  EXPECT_EQ(copy->metadata().size(), 3u);
  EXPECT_EQ(*copy->metadata().Get<int>("a"), -1);
  EXPECT_EQ(*copy->metadata().Get<std::string>("b"), "text");
}

TEST(Writer, RefusesWhatReadersWouldRefuse) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const auto error_of = [&](const std::vector<TensorSpec>& tensors, const MetadataBuilder& keys) {
    const auto writer = Writer::Create(folder.File("x.gguf"), keys, tensors);
    return writer.ok() ? "no error" : writer.error().message();
  };
  const MetadataBuilder none;
  EXPECT_THAT(error_of({{"", TensorType::kF32, {1}}}, none), HasSubstr("empty"));
  EXPECT_THAT(error_of({{std::string(64, 'n'), TensorType::kF32, {1}}}, none),
              HasSubstr("at most 63"));
  EXPECT_THAT(error_of({{"\xFF", TensorType::kF32, {1}}}, none), HasSubstr("UTF-8"));
  EXPECT_THAT(error_of({{"t", TensorType::kF32, {1, 1, 1, 1, 1}}}, none), HasSubstr("5 dim"));
  EXPECT_THAT(error_of({{"t", TensorType::kF32, {0}}}, none), HasSubstr("0 as a dimension"));
  EXPECT_THAT(error_of({{"t", TensorType::kQ4_0, {31}}}, none), HasSubstr("blocks of 32"));
  EXPECT_THAT(error_of({{"t", TensorType(77), {32}}}, none), HasSubstr("type 77"));
  EXPECT_THAT(error_of({{"t", TensorType::kF32, {1ULL << 61}}}, none), HasSubstr("too large"));
  EXPECT_THAT(error_of({{"t", TensorType::kF32, {1}}, {"t", TensorType::kF32, {1}}}, none),
              HasSubstr("given twice"));
  MetadataBuilder unaligned;
  unaligned.Set("general.alignment", uint32_t{33});
  EXPECT_THAT(error_of({}, unaligned), HasSubstr("power of two"));
  MetadataBuilder bad_key;
  bad_key.Set("\xC1", true);
  EXPECT_THAT(error_of({}, bad_key), HasSubstr("UTF-8"));
  EXPECT_TRUE(FilesIn(folder.path()).empty());
}

TEST(Writer, CountsEveryByte) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const std::vector<TensorSpec> specs = {{"a", TensorType::kF32, {4}},
                                         {"b", TensorType::kF32, {4}}};
  auto writer = Writer::Create(folder.File("x.gguf"), MetadataBuilder(), specs);
  ASSERT_TRUE(writer.ok()) << writer.error().message();
  const auto bytes = Pattern(17, 0);
  EXPECT_THAT(writer->Append("b", bytes).error().message(), HasSubstr("of the tensor a are due"));
  EXPECT_THAT(writer->Append("a", bytes).error().message(), HasSubstr("not 1 more"));
  EXPECT_TRUE(writer->Append("a", std::span(bytes).first(15)).ok());
  EXPECT_THAT(writer->Finish().error().message(), HasSubstr("1 bytes of the tensor a"));
  EXPECT_TRUE(writer->Append("a", std::span(bytes).first(1)).ok());
  EXPECT_TRUE(writer->Append("b", std::span(bytes).first(16)).ok());
  EXPECT_THAT(writer->Append("b", bytes).error().message(), HasSubstr("all tensors are written"));
  EXPECT_FALSE(std::filesystem::exists(folder.File("x.gguf")));
  EXPECT_TRUE(writer->Finish().ok());
  EXPECT_THAT(FilesIn(folder.path()), ::testing::ElementsAre("x.gguf"));
}

TEST(Writer, LeavesTheOldFileUntilTheNewIsWhole) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  std::ofstream(folder.File("x.gguf")) << "old";
  const std::vector<TensorSpec> specs = {{"a", TensorType::kF32, {4}}};
  {
    auto writer = Writer::Create(folder.File("x.gguf"), MetadataBuilder(), specs);
    ASSERT_TRUE(writer.ok()) << writer.error().message();
    EXPECT_THAT(Writer::Create(folder.File("x.gguf"), MetadataBuilder(), specs).error().message(),
                HasSubstr("another program is writing"));
  }
  EXPECT_THAT(FilesIn(folder.path()), ::testing::ElementsAre("x.gguf"));
  EXPECT_EQ(std::filesystem::file_size(folder.File("x.gguf")), 3u);
}

TEST(Writer, SaysWhereItCannotWrite) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  EXPECT_THAT(Writer::Create(folder.path(), MetadataBuilder(), {}).error().message(),
              HasSubstr("is a folder"));
  EXPECT_THAT(Writer::Create(folder.File("no/where.gguf"), MetadataBuilder(), {}).error().message(),
              HasSubstr("no/where.gguf"));
}

// The limit on a process's file size simulates a full disk.
TEST(Writer, NoticesAFullDiskBeforeItBegins) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {.rlim_cur = 1 << 20, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto writer = Writer::Create(folder.File("x.gguf"), MetadataBuilder(),
                                     {{"a", TensorType::kF32, {1 << 20}}});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(writer.ok());
  EXPECT_THAT(writer.error().message(), HasSubstr("bytes are needed on the disk"));
  EXPECT_TRUE(FilesIn(folder.path()).empty());
}

}  // namespace
}  // namespace aster::gguf
