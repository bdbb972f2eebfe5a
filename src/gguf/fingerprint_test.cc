// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/fingerprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "gguf/model_for_test.h"
#include "gguf/split_writer.h"

namespace aster::gguf {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr time_t kLongAgo = 1'700'000'000;

class FingerprintTest : public ::testing::Test {
 protected:
  FingerprintTest() { options_.cache_folder = folder_.File("cache"); }

  std::string path(const std::string& name) const { return folder_.File(name); }

  Result<Fingerprint> Run(const std::vector<std::string>& paths) {
    const ModelFiles model = TRY(ModelFiles::Open(paths));
    return FingerprintModel(model, pool_, options_);
  }

  Hash128 ModelHash(const std::vector<std::string>& paths) {
    const auto fingerprint = Run(paths);
    EXPECT_TRUE(fingerprint.ok()) << fingerprint.error().message();
    return fingerprint.ok() ? fingerprint->model : Hash128();
  }

  Hash128 HashOf(const MetadataBuilder& metadata, const std::vector<TensorSpec>& specs) {
    WriteTestFile(path("x.gguf"), metadata, specs);
    return ModelHash({path("x.gguf")});
  }

  const TemporaryDirectory folder_ = TemporaryDirectory::Create().value();
  ThreadPool pool_{3};
  FingerprintOptions options_;
};

TEST_F(FingerprintTest, IsTheSameHoweverTheModelIsCut) {
  const Hash128 whole = HashOf(TestKeys(), TestModel());

  auto split = SplitWriter::Create(path("s"), TestKeys(), TestModel(), 200);
  ASSERT_TRUE(split.ok()) << split.error().message();
  Fill(*split, TestModel());
  EXPECT_EQ(ModelHash({split->paths()[1]}), whole);

  WriteTestFile(path("a.gguf"), TestKeys(), With(TestLayers(0, 4), "token_embd.weight"));
  WriteTestFile(path("b.gguf"), TestKeys(),
                With(With(TestLayers(4, 6), "output_norm.weight"), "token_embd.weight"));
  EXPECT_EQ(ModelHash({path("a.gguf"), path("b.gguf")}), whole);
  EXPECT_EQ(ModelHash({path("b.gguf"), path("a.gguf")}), whole);
  EXPECT_NE(ModelHash({path("a.gguf")}), whole);

  auto reversed = TestModel();
  std::ranges::reverse(reversed);
  EXPECT_EQ(HashOf(TestKeys(), reversed), whole);
}

TEST_F(FingerprintTest, DescriptionsDoNotMatter) {
  const Hash128 whole = HashOf(TestKeys(), TestModel());
  MetadataBuilder keys = TestKeys();
  keys.Set("general.name", "another name");
  keys.Set("general.alignment", uint32_t{128});
  keys.Set("general.quantization_version", uint32_t{2});
  keys.Set("general.file_type", uint32_t{7});
  keys.Set("tokenizer.chat_template", "{{ repaired }}");
  keys.Set("quantize.imatrix.file", "wiki.dat");
  EXPECT_EQ(HashOf(keys, TestModel()), whole);
}

TEST_F(FingerprintTest, EverythingElseDoes) {
  const Hash128 whole = HashOf(TestKeys(), TestModel());
  MetadataBuilder keys = TestKeys();
  keys.Set("llama.rope.freq_base", 10000.0F);
  EXPECT_NE(HashOf(keys, TestModel()), whole);
  keys = TestKeys();
  keys.Set("tokenizer.ggml.tokens", std::vector<std::string>{"a", "c"});
  EXPECT_NE(HashOf(keys, TestModel()), whole);
  keys = TestKeys();
  keys.Set("general.architecture", "mistral");
  EXPECT_NE(HashOf(keys, TestModel()), whole);

  auto specs = TestModel();
  specs[3].dims = {16, 1};  // the same bytes
  EXPECT_NE(HashOf(TestKeys(), specs), whole);
  specs = TestModel();
  specs[3].type = TensorType::kI32;
  EXPECT_NE(HashOf(TestKeys(), specs), whole);
  specs = TestModel();
  specs[3].name = "blk.1.ffn_up.other";
  EXPECT_NE(HashOf(TestKeys(), specs), whole);
  EXPECT_NE(HashOf(TestKeys(), With(TestModel(), "more.weight")), whole);
}

void FlipLastByte(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-1, std::ios::end);
  const char byte = static_cast<char>(file.get());
  file.seekp(-1, std::ios::end);
  file.put(static_cast<char>(byte ^ 1));
}

TEST_F(FingerprintTest, OneBitOfContentMatters) {
  const Hash128 whole = HashOf(TestKeys(), TestModel());
  FlipLastByte(path("x.gguf"));  // test tensors have no padding after them
  EXPECT_NE(ModelHash({path("x.gguf")}), whole);
}

TEST_F(FingerprintTest, IsTheSameForAnyNumberOfThreads) {
  std::vector<TensorSpec> specs = TestModel();
  specs.push_back({"large", TensorType::kF32, {1 << 20, 3}});
  specs.push_back({"odd", TensorType::kI8, {kHashChunkBytes + 1}});
  specs.push_back({"even", TensorType::kI8, {kHashChunkBytes}});
  WriteTestFile(path("x.gguf"), TestKeys(), specs);
  options_.use_cache = false;
  const auto expected = Run({path("x.gguf")});
  ASSERT_TRUE(expected.ok()) << expected.error().message();
  for (const size_t thread_count : {1, 2, 7}) {
    const auto model = ModelFiles::Open(path("x.gguf"));
    ASSERT_TRUE(model.ok()) << model.error().message();
    ThreadPool pool(thread_count);
    const auto fingerprint = FingerprintModel(*model, pool, options_);
    ASSERT_TRUE(fingerprint.ok()) << fingerprint.error().message();
    EXPECT_EQ(fingerprint->model, expected->model);
    for (size_t i = 0; i < model->entries().size(); ++i) {
      EXPECT_EQ(fingerprint->contents[i], ContentHashOf(model->entries()[i].tensor->data));
    }
  }
}

// A fixed value, so that any change of the definition is noticed: fingerprints are stored.
TEST_F(FingerprintTest, StaysWhatItIs) {
  const std::vector<uint8_t> data(kHashChunkBytes + 5, 0x5A);
  Hasher of_hashes;
  for (const Bytes chunk : {std::span(data).first(kHashChunkBytes), std::span(data).last(5)}) {
    of_hashes.AddValue(Hash128Of(chunk).low);
    of_hashes.AddValue(Hash128Of(chunk).high);
  }
  EXPECT_EQ(ContentHashOf(data), of_hashes.Digest());
  EXPECT_EQ(ContentHashOf(data).ToHex(), "14410bffd64f3db839ea97b31b9d7010");
  EXPECT_EQ(HashOf(TestKeys(), TestModel()).ToHex(), "100b84279f750336cbaddd1c6d57a091");
}

TEST_F(FingerprintTest, IsComputedOnceAndKeptBesideTheFile) {
  WriteTestFile(path("x.gguf"), TestKeys(), TestModel());
  SetFileTime(path("x.gguf"), kLongAgo);
  const Hash128 first = ModelHash({path("x.gguf")});
  ASSERT_TRUE(std::filesystem::exists(path("x.gguf.fingerprint")));
  EXPECT_FALSE(std::filesystem::exists(path("cache")));

  // Changed without changing the time: the cache is used, so nothing is hashed again.
  FlipLastByte(path("x.gguf"));
  SetFileTime(path("x.gguf"), kLongAgo);
  EXPECT_EQ(ModelHash({path("x.gguf")}), first);
  // With another time it is hashed again.
  SetFileTime(path("x.gguf"), kLongAgo + 1);
  const Hash128 second = ModelHash({path("x.gguf")});
  EXPECT_NE(second, first);
  // The new hash was stored.
  FlipLastByte(path("x.gguf"));
  SetFileTime(path("x.gguf"), kLongAgo + 1);
  EXPECT_EQ(ModelHash({path("x.gguf")}), second);
  // A copy is another file.
  std::filesystem::copy_file(path("x.gguf"), path("y.gguf"));
  std::filesystem::copy_file(path("x.gguf.fingerprint"), path("y.gguf.fingerprint"));
  SetFileTime(path("y.gguf"), kLongAgo + 1);
  EXPECT_EQ(ModelHash({path("y.gguf")}), first);
}

TEST_F(FingerprintTest, AFreshFileIsNotCached) {
  WriteTestFile(path("x.gguf"), TestKeys(), TestModel());
  std::filesystem::last_write_time(path("x.gguf"), std::filesystem::file_time_type::clock::now());
  EXPECT_TRUE(Run({path("x.gguf")}).ok());
  EXPECT_FALSE(std::filesystem::exists(path("x.gguf.fingerprint")));
}

TEST_F(FingerprintTest, ADamagedCacheIsReplaced) {
  WriteTestFile(path("x.gguf"), TestKeys(), TestModel());
  SetFileTime(path("x.gguf"), kLongAgo);
  const Hash128 hash = ModelHash({path("x.gguf")});
  for (const char* garbage : {"", "garbage", "asterism fingerprint 1\n"}) {
    std::ofstream(path("x.gguf.fingerprint")) << garbage;
    EXPECT_EQ(ModelHash({path("x.gguf")}), hash);
    EXPECT_GT(std::filesystem::file_size(path("x.gguf.fingerprint")), 100u);
  }
}

TEST_F(FingerprintTest, TheCacheFolderServesWhereTheFilesFolderDoesNot) {
  WriteTestFile(path("x.gguf"), TestKeys(), TestModel());
  SetFileTime(path("x.gguf"), kLongAgo);
  // A folder of that name cannot be replaced by a file, not even by root.
  std::filesystem::create_directory(path("x.gguf.fingerprint"));
  const auto first = Run({path("x.gguf")});
  ASSERT_TRUE(first.ok()) << first.error().message();
  EXPECT_THAT(first->warnings, IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(CachePaths(path("x.gguf"), path("cache"))[1]));
  FlipLastByte(path("x.gguf"));
  SetFileTime(path("x.gguf"), kLongAgo);
  EXPECT_EQ(ModelHash({path("x.gguf")}), first->model);

  options_.cache_folder = "";
  const auto uncached = Run({path("x.gguf")});
  ASSERT_TRUE(uncached.ok()) << uncached.error().message();
  EXPECT_THAT(uncached->warnings, SizeIs(1));
}

TEST_F(FingerprintTest, RepeatedTensorsMustBeTheSame) {
  WriteTestFile(path("a.gguf"), TestKeys(), TestLayers(0, 4));
  WriteTestFile(path("b.gguf"), TestKeys(), TestLayers(3, 6));
  EXPECT_TRUE(Run({path("a.gguf"), path("b.gguf")}).ok());
  FlipLastByte(path("a.gguf"));
  const auto fingerprint = Run({path("a.gguf"), path("b.gguf")});
  ASSERT_FALSE(fingerprint.ok());
  EXPECT_THAT(fingerprint.error().message(), HasSubstr("blk.3.ffn_up.weight differs"));
}

TEST_F(FingerprintTest, ShowsProgressAndCanBeStopped) {
  std::vector<TensorSpec> specs = {{"large", TensorType::kI8, {3 * kHashChunkBytes}}};
  WriteTestFile(path("x.gguf"), TestKeys(), specs);
  options_.use_cache = false;
  std::vector<uint64_t> seen;
  options_.hashing.progress = [&](uint64_t done, uint64_t total) {
    EXPECT_EQ(total, 3 * kHashChunkBytes);
    seen.push_back(done);
  };
  EXPECT_TRUE(Run({path("x.gguf")}).ok());
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_EQ(seen.back(), 3 * kHashChunkBytes);

  std::stop_source source;
  source.request_stop();
  options_.hashing.stop = source.get_token();
  const auto stopped = Run({path("x.gguf")});
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code(), Code::kCancelled);
}

TEST(FingerprintCache, RoundTrips) {
  const CachedHashes cached = {
      .identity = {.device = 1, .inode = ~0ULL, .size_bytes = 3, .modified_ns = -4},
      .hashes = {{.low = 1, .high = 2}, {.low = ~0ULL, .high = 0}}};
  const std::string text = FormatCachedHashes(cached);
  const auto parsed = ParseCachedHashes(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  EXPECT_EQ(*parsed, cached);
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(ParseCachedHashes(text.substr(0, size)).ok()) << size;
    std::string flipped = text;
    flipped[size] ^= 1;
    EXPECT_FALSE(ParseCachedHashes(flipped).ok()) << size;
  }
  EXPECT_FALSE(ParseCachedHashes(text + "\n").ok());
}

TEST(FingerprintCache, HasOnePlaceForEachFile) {
  EXPECT_THAT(CachePaths("/m/a.gguf", ""), ::testing::ElementsAre("/m/a.gguf.fingerprint"));
  const auto a = CachePaths("/m/a.gguf", "/c");
  const auto b = CachePaths("/n/a.gguf", "/c");
  ASSERT_EQ(a.size(), 2u);
  EXPECT_THAT(a[1], HasSubstr("/c/a.gguf-"));
  EXPECT_NE(a[1], b[1]);
}

}  // namespace
}  // namespace aster::gguf
