// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/quantize_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "base/files.h"
#include "gguf/split_writer.h"
#include "gguf/writer.h"
#include "quant/dequantize.h"
#include "quant/quantize.h"
#include "quant/random_for_test.h"

namespace aster::quant {
namespace {

using gguf::TensorType;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string TempPath(const std::string& name) { return ::testing::TempDir() + name; }

// A model in memory: tensors of normally distributed weights, or of given ones.
class TestModel {
 public:
  TestModel() {
    metadata_.Set("general.architecture", "llama");
    metadata_.Set<uint32_t>("llama.block_count", 2);
    metadata_.Set<uint32_t>("general.file_type", 1);
  }

  void Add(const std::string& name, std::vector<uint64_t> dims,
           TensorType type = TensorType::kF16) {
    uint64_t count = 1;
    for (const uint64_t dim : dims) count *= dim;
    Add(name, std::move(dims), NormalRow(specs_.size(), count, 0.02f), type);
  }
  void Add(const std::string& name, std::vector<uint64_t> dims, const std::vector<float>& weights,
           TensorType type) {
    specs_.push_back({name, type, std::move(dims)});
    data_.emplace_back(*gguf::TensorBytes(type, specs_.back().dims));
    ASSERT_TRUE(Quantize(type, weights, data_.back()).ok());
  }
  void AddRaw(const std::string& name, std::vector<uint64_t> dims, TensorType type) {
    specs_.push_back({name, type, std::move(dims)});
    data_.emplace_back(*gguf::TensorBytes(type, specs_.back().dims), uint8_t{1});
  }

  std::string Write(const std::string& name) const {
    auto writer = gguf::Writer::Create(TempPath(name), metadata_, specs_);
    EXPECT_TRUE(writer.ok());
    Fill(*writer);
    return TempPath(name);
  }
  std::string WriteSplit(const std::string& prefix) const {
    auto writer = gguf::SplitWriter::Create(TempPath(prefix), metadata_, specs_, 100000);
    EXPECT_TRUE(writer.ok());
    EXPECT_GT(writer->paths().size(), 1u);
    Fill(*writer);
    return writer->paths().front();
  }

 private:
  template <typename AnyWriter>
  void Fill(AnyWriter& writer) const {
    for (size_t i = 0; i < specs_.size(); ++i) {
      EXPECT_TRUE(writer.Append(specs_[i].name, data_[i]).ok());
    }
    EXPECT_TRUE(writer.Finish().ok());
  }

  gguf::MetadataBuilder metadata_;
  std::vector<gguf::TensorSpec> specs_;
  std::vector<std::vector<uint8_t>> data_;
};

TestModel LittleLlama() {
  TestModel model;
  model.Add("token_embd.weight", {512, 300});
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    model.Add(layer + "attn_norm.weight", {512});
    model.Add(layer + "attn_q.weight", {512, 512});
    model.Add(layer + "attn_v.weight", {512, 128}, TensorType::kBF16);
    model.Add(layer + "ffn_down.weight", {1024, 512}, TensorType::kF32);
    model.Add(layer + "ffn_up.weight", {512, 1024});
  }
  model.Add("output_norm.weight", {512});
  model.Add("output.weight", {512, 300});
  return model;
}

gguf::ModelFiles OpenModel(const std::string& path) {
  auto files = gguf::ModelFiles::Open(path);
  EXPECT_TRUE(files.ok()) << files.error().message();
  return std::move(*files);
}

// Quantises files and returns the error, if any.
Result<QuantizeReport> QuantizeTo(const gguf::ModelFiles& files, const TypeRules& rules,
                                  const std::string& out, size_t threads = 2,
                                  const ImportanceMatrix* importance = nullptr) {
  ThreadPool pool(threads);
  const QuantizePlan plan = TRY(PlanQuantization(files, rules, importance));
  return WriteQuantized(files, plan, out, pool);
}

TypeRules RulesBy(std::string_view recipe) {
  return {.recipe = FindRecipe(recipe), .overrides = {}};
}

std::vector<float> WeightsOf(const gguf::Tensor& tensor) {
  std::vector<float> weights(tensor.element_count);
  EXPECT_TRUE(Dequantize(tensor.type, tensor.data, weights).ok());
  return weights;
}

TEST(QuantizeFile, AMixOfTypes) {
  const gguf::ModelFiles in = OpenModel(LittleLlama().Write("mix_in.gguf"));
  const std::string path = TempPath("mix_out.gguf");
  const auto report = QuantizeTo(in, RulesBy("Q4_K_M"), path);
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report->file_bytes, std::filesystem::file_size(path));

  const gguf::ModelFiles out = OpenModel(path);
  EXPECT_EQ(*out.metadata().Get<uint32_t>("general.file_type"), 15u);
  EXPECT_EQ(*out.metadata().Get<uint32_t>("general.quantization_version"), 2u);
  EXPECT_EQ(*out.metadata().Get<uint32_t>("llama.block_count"), 2u);
  EXPECT_EQ(out.FindTensor("blk.0.attn_q.weight")->type, TensorType::kQ4_K);
  EXPECT_EQ(out.FindTensor("output.weight")->type, TensorType::kQ6_K);
  EXPECT_EQ(out.FindTensor("output_norm.weight")->type, TensorType::kF32);
  ASSERT_EQ(out.entries().size(), in.entries().size());
  for (size_t i = 0; i < in.files()[0].tensors().size(); ++i) {
    const gguf::Tensor& before = in.files()[0].tensors()[i];
    const gguf::Tensor& after = out.files()[0].tensors()[i];
    EXPECT_EQ(after.name, before.name) << "the order stays";
    std::vector<uint8_t> expected(after.data.size());
    ASSERT_TRUE(Quantize(after.type, WeightsOf(before), expected).ok());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), after.data.begin())) << after.name;
  }
}

TEST(QuantizeFile, SaysHowLargeTheErrorIs) {
  const gguf::ModelFiles in = OpenModel(LittleLlama().Write("error_in.gguf"));
  ThreadPool pool(1);
  const auto plan = PlanQuantization(in, RulesBy("Q8_0"), nullptr);
  ASSERT_TRUE(plan.ok());
  const auto report = WriteQuantized(in, *plan, TempPath("error_out.gguf"), pool);
  ASSERT_TRUE(report.ok());
  for (size_t i = 0; i < plan->tensors.size(); ++i) {
    const bool is_matrix = plan->tensors[i].tensor->dim_count == 2;
    const double error = report->errors[i].Relative();
    EXPECT_NEAR(error, is_matrix ? 5.3e-3 : 0, 2e-4) << plan->tensors[i].tensor->name;
  }
}

TEST(QuantizeFile, ThreadsDoNotChangeTheResult) {
  const gguf::ModelFiles in = OpenModel(LittleLlama().Write("threads_in.gguf"));
  const auto one = QuantizeTo(in, RulesBy("Q3_K_M"), TempPath("one.gguf"), 1);
  const auto three = QuantizeTo(in, RulesBy("Q3_K_M"), TempPath("three.gguf"), 3);
  ASSERT_TRUE(one.ok() && three.ok());
  EXPECT_EQ(*ReadFile(TempPath("one.gguf"), 1 << 24), *ReadFile(TempPath("three.gguf"), 1 << 24));
  for (size_t i = 0; i < one->errors.size(); ++i) {
    EXPECT_EQ(one->errors[i].squared_error, three->errors[i].squared_error);
  }
}

TEST(QuantizeFile, ASplitModelBecomesOneFile) {
  const gguf::ModelFiles whole = OpenModel(LittleLlama().Write("whole.gguf"));
  const gguf::ModelFiles split = OpenModel(LittleLlama().WriteSplit("split"));
  EXPECT_GT(split.files().size(), 1u);
  ASSERT_TRUE(QuantizeTo(whole, RulesBy("Q5_K_M"), TempPath("from_whole.gguf")).ok());
  ASSERT_TRUE(QuantizeTo(split, RulesBy("Q5_K_M"), TempPath("from_split.gguf")).ok());
  const gguf::ModelFiles out = OpenModel(TempPath("from_split.gguf"));
  EXPECT_FALSE(out.metadata().Contains("split.count"));
  const gguf::ModelFiles expected = OpenModel(TempPath("from_whole.gguf"));
  for (const auto& entry : expected.entries()) {
    const gguf::Tensor* tensor = out.FindTensor(entry.tensor->name);
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(AsText(tensor->data), AsText(entry.tensor->data)) << tensor->name;
  }
}

TEST(QuantizeFile, RowsLongerThanAPiece) {
  TestModel model;
  model.Add("blk.0.ffn_down.weight", {2 * 65536 + 512, 3}, TensorType::kQ8_0);
  const gguf::ModelFiles in = OpenModel(model.Write("long_in.gguf"));
  ASSERT_TRUE(QuantizeTo(in, RulesBy("Q4_K"), TempPath("long_out.gguf")).ok());
  const gguf::ModelFiles out = OpenModel(TempPath("long_out.gguf"));
  const gguf::Tensor* tensor = out.FindTensor("blk.0.ffn_down.weight");
  std::vector<uint8_t> expected(tensor->data.size());
  ASSERT_TRUE(Quantize(TensorType::kQ4_K, WeightsOf(in.files()[0].tensors()[0]), expected).ok());
  EXPECT_EQ(AsText(tensor->data), AsText(expected));
}

// An importance matrix in its older form.
ImportanceMatrix ImportanceOf(std::string_view name, const std::vector<float>& values) {
  ByteWriter out;
  out.Write<uint32_t>(1);
  out.Write<uint32_t>(static_cast<uint32_t>(name.size()));
  out.WriteBytes(AsBytes(name));
  out.Write<int32_t>(0);
  out.Write<uint32_t>(static_cast<uint32_t>(values.size()));
  for (const float value : values) out.Write<float>(value);
  auto matrix = ImportanceMatrix::Parse(out.bytes());
  EXPECT_TRUE(matrix.ok());
  return std::move(*matrix);
}

TEST(QuantizeFile, EveryExpertHasItsOwnImportance) {
  TestModel model;
  model.Add("blk.0.ffn_up_exps.weight", {256, 4, 2}, TensorType::kF32);
  const gguf::ModelFiles in = OpenModel(model.Write("experts_in.gguf"));
  const std::vector<float> values = UniformRow(3, 512);
  const ImportanceMatrix importance = ImportanceOf("blk.0.ffn_up_exps.weight", values);
  ASSERT_TRUE(
      QuantizeTo(in, RulesBy("IQ2_XXS"), TempPath("experts_out.gguf"), 2, &importance).ok());
  const gguf::ModelFiles out = OpenModel(TempPath("experts_out.gguf"));
  EXPECT_TRUE(out.metadata().Contains("quantize.imatrix.entries_count"));
  const gguf::Tensor& tensor = out.files()[0].tensors()[0];
  const std::vector<float> weights = WeightsOf(in.files()[0].tensors()[0]);
  const size_t row_bytes = tensor.data.size() / 8;
  for (size_t row = 0; row < 8; ++row) {
    std::vector<uint8_t> expected(row_bytes);
    ASSERT_TRUE(Quantize(TensorType::kIQ2_XXS, std::span(weights).subspan(row * 256, 256), expected,
                         values.data() + row / 4 * 256)
                    .ok());
    EXPECT_EQ(AsText(tensor.data.subspan(row * row_bytes, row_bytes)), AsText(expected)) << row;
  }
}

TEST(QuantizeFile, AnImportanceMatrixOfAnotherModel) {
  const gguf::ModelFiles in = OpenModel(LittleLlama().Write("other_in.gguf"));
  const ImportanceMatrix importance = ImportanceOf("blk.0.attn_q.weight", UniformRow(1, 100));
  const auto plan = PlanQuantization(in, RulesBy("Q4_K"), &importance);
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().message(), HasSubstr("blk.0.attn_q.weight"));
  const ImportanceMatrix of_embedding = ImportanceOf("token_embd.weight", UniformRow(1, 100));
  EXPECT_TRUE(PlanQuantization(in, RulesBy("Q4_K"), &of_embedding).ok());
}

TEST(QuantizeFile, TypesThatCannotBeReadAreNamed) {
  TestModel model;
  model.AddRaw("blk.0.attn_q.weight", {256, 2}, TensorType::kIQ4_KS);
  const gguf::ModelFiles in = OpenModel(model.Write("unreadable.gguf"));
  const auto plan = PlanQuantization(in, RulesBy("Q4_K"), nullptr);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code(), Code::kUnimplemented);
  EXPECT_THAT(plan.error().message(), HasSubstr("blk.0.attn_q.weight"));
  EXPECT_THAT(plan.error().message(), HasSubstr("IQ4_KS"));
}

TEST(QuantizeFile, WhatNeedsNoChangeIsCopiedWhateverItIs) {
  TestModel model;
  model.AddRaw("blk.0.ffn_gate_tid2eid.weight", {8, 16}, TensorType::kI32);
  model.AddRaw("blk.0.attn_q.weight", {256, 2}, TensorType::kQ4_K);
  const gguf::ModelFiles in = OpenModel(model.Write("copy_in.gguf"));
  const auto plan = PlanQuantization(in, RulesBy("Q4_K"), nullptr);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->warnings, IsEmpty());
  ASSERT_TRUE(QuantizeTo(in, RulesBy("Q4_K"), TempPath("copy_out.gguf")).ok());
  const gguf::ModelFiles out = OpenModel(TempPath("copy_out.gguf"));
  for (const auto& entry : in.entries()) {
    EXPECT_EQ(AsText(out.FindTensor(entry.tensor->name)->data), AsText(entry.tensor->data));
  }
}

TEST(QuantizeFile, WarnsOfQuantisingTwice) {
  TestModel model;
  model.Add("blk.0.attn_q.weight", {256, 2}, TensorType::kQ4_0);
  const gguf::ModelFiles in = OpenModel(model.Write("twice.gguf"));
  const auto plan = PlanQuantization(in, RulesBy("Q2_K"), nullptr);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->warnings, Contains(HasSubstr("Q4_0")));
}

TEST(QuantizeFile, AWeightThatIsNoNumber) {
  TestModel model;
  std::vector<float> weights = NormalRow(1, 1024);
  weights[3 * 256 + 17] = std::numeric_limits<float>::quiet_NaN();
  model.AddRaw("blk.0.attn_q.weight", {256, 4}, TensorType::kF32);
  const std::string path = model.Write("nan_in.gguf");
  {
    auto text = *ReadFile(path, 1 << 20);
    std::memcpy(text.data() + text.size() - 4096, weights.data(), 4096);
    ASSERT_TRUE(WriteFileAtomically(path, AsBytes(text)).ok());
  }
  const std::string out = TempPath("nan_out.gguf");
  const auto report = QuantizeTo(OpenModel(path), RulesBy("Q4_K"), out);
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message(), HasSubstr("'blk.0.attn_q.weight', row 3"));
  EXPECT_THAT(report.error().message(), HasSubstr("17"));
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(QuantizeFile, AnOverrideThatMatchesNothingIsAMistake) {
  const gguf::ModelFiles in = OpenModel(LittleLlama().Write("override_in.gguf"));
  TypeRules rules = RulesBy("Q4_K");
  rules.overrides = {{"atn_q", TensorType::kQ8_0}};
  const auto plan = PlanQuantization(in, rules, nullptr);
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().message(), HasSubstr("'atn_q'"));
}

TEST(QuantizeFile, DoesNotReplaceWhatItReads) {
  const std::string path = LittleLlama().Write("same.gguf");
  const auto report = QuantizeTo(OpenModel(path), RulesBy("Q4_K"), path);
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message(), HasSubstr("another name"));
}

TEST(QuantizeFile, ProgressEndsWithEverything) {
  const gguf::ModelFiles in = OpenModel(LittleLlama().Write("progress_in.gguf"));
  ThreadPool pool(2);
  const auto plan = PlanQuantization(in, RulesBy("Q8_0"), nullptr);
  ASSERT_TRUE(plan.ok());
  uint64_t last = 0;
  uint64_t last_total = 0;
  const auto report = WriteQuantized(in, *plan, TempPath("progress_out.gguf"), pool,
                                     [&](uint64_t done, uint64_t total) {
                                       EXPECT_GE(done, last);
                                       last = done;
                                       last_total = total;
                                     });
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(last, plan->bytes_before);
  EXPECT_EQ(last_total, plan->bytes_before);
}

}  // namespace
}  // namespace aster::quant
