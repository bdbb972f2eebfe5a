// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/importance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "gguf/writer.h"

namespace aster::quant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The older form, entry by entry.
class PlainFile {
 public:
  explicit PlainFile(uint32_t entry_count) { out_.Write<uint32_t>(entry_count); }
  PlainFile& Entry(std::string_view name, int32_t calls, const std::vector<float>& values) {
    out_.Write<uint32_t>(static_cast<uint32_t>(name.size()));
    out_.WriteBytes(AsBytes(name));
    out_.Write<int32_t>(calls);
    out_.Write<uint32_t>(static_cast<uint32_t>(values.size()));
    for (const float value : values) out_.Write<float>(value);
    return *this;
  }
  PlainFile& Put(uint32_t value) {
    out_.Write<uint32_t>(value);
    return *this;
  }
  Bytes bytes() const { return out_.bytes(); }

 private:
  ByteWriter out_;
};

TEST(ImportanceMatrix, PlainForm) {
  PlainFile file(2);
  file.Entry("blk.0.attn_q.weight", 4, {4.0f, 8.0f}).Entry("output.weight", 0, {3.0f}).Put(77);
  const auto matrix = ImportanceMatrix::Parse(file.bytes());
  ASSERT_TRUE(matrix.ok()) << matrix.error().message();
  EXPECT_THAT(matrix->Find("blk.0.attn_q.weight"), ElementsAre(1.0f, 2.0f));
  EXPECT_THAT(matrix->Find("output.weight"), ElementsAre(3.0f))
      << "without calls the sums stay unchanged";
  EXPECT_THAT(matrix->Find("blk.1.attn_q.weight"), IsEmpty());
  EXPECT_EQ(matrix->size(), 2u);
  EXPECT_EQ(matrix->chunk_count(), 77u);
}

TEST(ImportanceMatrix, PlainFormCutAnywhereIsAnErrorOrComplete) {
  PlainFile file(2);
  file.Entry("a", 1, {1.0f, 2.0f}).Entry("b", 1, {3.0f});
  for (size_t size = 0; size < file.bytes().size(); ++size) {
    EXPECT_FALSE(ImportanceMatrix::Parse(file.bytes().first(size)).ok()) << size;
  }
  EXPECT_TRUE(ImportanceMatrix::Parse(file.bytes()).ok());
}

TEST(ImportanceMatrix, PlainFormWithAbsurdCounts) {
  EXPECT_FALSE(ImportanceMatrix::Parse(PlainFile(0xffffffff).bytes()).ok());
  EXPECT_FALSE(ImportanceMatrix::Parse(PlainFile(0).bytes()).ok());
  EXPECT_FALSE(ImportanceMatrix::Parse(PlainFile(1).Put(0xfffffff0).bytes()).ok());
  PlainFile values(1);
  values.Put(1).Put(0x61000000).Put(0).Put(0x40000000);
  EXPECT_FALSE(ImportanceMatrix::Parse(values.bytes()).ok());
}

TEST(ImportanceMatrix, RefusesWhatIsNoMeanOfSquares) {
  for (const float bad :
       {-1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const auto matrix = ImportanceMatrix::Parse(PlainFile(1).Entry("w", 1, {1.0f, bad}).bytes());
    ASSERT_FALSE(matrix.ok());
    EXPECT_THAT(matrix.error().message(), HasSubstr("'w'"));
  }
  PlainFile twice(2);
  twice.Entry("w", 1, {1.0f}).Entry("w", 1, {1.0f});
  EXPECT_FALSE(ImportanceMatrix::Parse(twice.bytes()).ok());
}

class ImportanceFile {
 public:
  void Add(const std::string& name, std::vector<uint64_t> dims, std::vector<float> values) {
    specs_.push_back({name, gguf::TensorType::kF32, std::move(dims)});
    values_.push_back(std::move(values));
  }
  std::string Write(const std::string& file_name) {
    gguf::MetadataBuilder metadata;
    metadata.Set("general.type", "imatrix");
    metadata.Set<uint32_t>("imatrix.chunk_count", 12);
    const std::string path = ::testing::TempDir() + file_name;
    auto writer = gguf::Writer::Create(path, metadata, specs_);
    EXPECT_TRUE(writer.ok());
    for (size_t i = 0; i < specs_.size(); ++i) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(values_[i].data());
      EXPECT_TRUE(writer->Append(specs_[i].name, {bytes, values_[i].size() * 4}).ok());
    }
    EXPECT_TRUE(writer->Finish().ok());
    return path;
  }

 private:
  std::vector<gguf::TensorSpec> specs_;
  std::vector<std::vector<float>> values_;
};

TEST(ImportanceMatrix, GgufForm) {
  ImportanceFile file;
  file.Add("blk.0.ffn_up_exps.weight.in_sum2", {2, 3}, {2, 4, 0, 0, 9, 3});
  file.Add("blk.0.ffn_up_exps.weight.counts", {1, 3}, {2, 0, 3});
  const std::string path = file.Write("importance.gguf");
  const auto matrix = ImportanceMatrix::Load(path);
  ASSERT_TRUE(matrix.ok()) << matrix.error().message();
  EXPECT_THAT(matrix->Find("blk.0.ffn_up_exps.weight"), ElementsAre(1, 2, 1, 1, 3, 1))
      << "all columns of an unused expert count the same";
  EXPECT_EQ(matrix->chunk_count(), 12u);
}

TEST(ImportanceMatrix, GgufFormWithoutItsCounts) {
  ImportanceFile file;
  file.Add("w.in_sum2", {2, 3}, {2, 4, 0, 0, 9, 3});
  const auto missing = ImportanceMatrix::Load(file.Write("no_counts.gguf"));
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message(), HasSubstr("counts"));
  file.Add("w.counts", {1, 4}, {1, 1, 1, 1});
  EXPECT_FALSE(ImportanceMatrix::Load(file.Write("odd_counts.gguf")).ok());
}

TEST(ImportanceMatrix, AModelIsNoImportanceMatrix) {
  ImportanceFile file;
  file.Add("output.weight", {2, 3}, {2, 4, 0, 0, 9, 3});
  const auto matrix = ImportanceMatrix::Load(file.Write("model.gguf"));
  ASSERT_FALSE(matrix.ok());
  EXPECT_THAT(matrix.error().message(), HasSubstr("model.gguf"));
}

}  // namespace
}  // namespace aster::quant
