// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/files/rank_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "base/files.h"
#include "gguf/metadata_builder.h"
#include "gguf/writer.h"

namespace aster::model {
namespace {

struct HeadTensor {
  std::vector<uint64_t> dims;
  std::vector<float> values;
};

// The head of a model with rows of two numbers and these tensors.
Result<std::shared_ptr<const RankHead>> HeadOf(uint32_t pooling,
                                               const std::map<std::string, HeadTensor>& tensors,
                                               const std::vector<std::string>& labels = {}) {
  gguf::MetadataBuilder metadata;
  metadata.Set("general.architecture", std::string_view("qwen3"));
  metadata.Set("qwen3.block_count", uint32_t{1});
  metadata.Set("qwen3.embedding_length", uint32_t{2});
  metadata.Set("qwen3.pooling_type", pooling);
  metadata.Set("tokenizer.chat_template.rerank", std::string_view("{query}|{document}"));
  if (!labels.empty()) metadata.Set("qwen3.classifier.output_labels", labels);
  std::vector<gguf::TensorSpec> specs;
  for (const auto& [name, tensor] : tensors)
    specs.push_back({name, gguf::TensorType::kF32, tensor.dims});
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create());
  const std::string path = folder.File("model.gguf");
  gguf::Writer writer = TRY(gguf::Writer::Create(path, metadata, specs));
  for (const auto& [name, tensor] : tensors) {
    std::vector<uint8_t> bytes(tensor.values.size() * sizeof(float));
    std::memcpy(bytes.data(), tensor.values.data(), bytes.size());
    TRY(writer.Append(name, bytes));
  }
  TRY(writer.Finish());
  const gguf::ModelFiles files = TRY(gguf::ModelFiles::Open(path));
  return ReadRankHead(files);
}

constexpr uint32_t kRankPooling = 4;
constexpr float kRow[] = {3, 5};

TEST(RankHead, OfOneNumberIsItsSigmoid) {
  const auto head = HeadOf(kRankPooling, {{"cls.output.weight", {{2}, {0.5f, -0.25f}}},
                                          {"cls.output.bias", {{1}, {2}}}})
                        .value();
  EXPECT_EQ(head->form, "{query}|{document}");
  EXPECT_EQ(head->RawScore(kRow), 2 + 0.5 * 3 - 0.25 * 5);
  EXPECT_DOUBLE_EQ(head->Relevance(kRow), 1 / (1 + std::exp(-2.25)));
}

TEST(RankHead, OfClassesIsTheProbabilityOfYes) {
  const std::map<std::string, HeadTensor> tensors = {
      {"cls.output.weight", {{2, 3}, {1, 0, 0, 1, -1, 0}}}};
  const auto share = [](double one, double two, double three) {
    return std::exp(one) / (std::exp(one) + std::exp(two) + std::exp(three));
  };
  // The classes' scores are 3, 5 and -3.
  EXPECT_DOUBLE_EQ(HeadOf(kRankPooling, tensors).value()->Relevance(kRow), share(3, 5, -3));
  const auto named = HeadOf(kRankPooling, tensors, {"no", "yes", "perhaps"}).value();
  EXPECT_DOUBLE_EQ(named->Relevance(kRow), share(5, 3, -3));
}

TEST(RankHead, HasALayerBeforeIt) {
  const auto head = HeadOf(kRankPooling, {{"cls.weight", {{2, 2}, {1, 0, 0, -1}}},
                                          {"cls.bias", {{2}, {-2, 4}}},
                                          {"cls.output.weight", {{2, 1}, {1, 10}}}})
                        .value();
  EXPECT_DOUBLE_EQ(head->RawScore(kRow), std::tanh(1.0) + 10 * std::tanh(-1.0));
}

TEST(RankHead, HugeNumbersAreARank) {
  const auto head =
      HeadOf(kRankPooling, {{"cls.output.weight", {{2, 2}, {1e30f, 0, -1e30f, 0}}}}).value();
  EXPECT_EQ(head->Relevance(kRow), 1);
  EXPECT_EQ(head->Relevance(std::vector<float>{-3, 5}), 0);
}

TEST(RankHead, ThatIsDamagedIsRefused) {
  EXPECT_THAT(HeadOf(kRankPooling, {}).error().message(),
              testing::HasSubstr("cls.output.weight is missing"));
  EXPECT_THAT(HeadOf(kRankPooling, {{"cls.output.weight", {{3}, {1, 2, 3}}}}).error().message(),
              testing::HasSubstr("cls.output.weight is [3], [2] is needed"));
  EXPECT_THAT(HeadOf(kRankPooling, {{"cls.output.weight", {{2, 1}, {1, 2}}}}, {"no", "yes"})
                  .error()
                  .message(),
              testing::HasSubstr("has 2 labels"));
}

TEST(RankHead, EmbeddingModelsRankWithoutOne) {
  EXPECT_EQ(HeadOf(3, {}).value(), nullptr);
  EXPECT_THAT(HeadOf(0, {}).error().message(), testing::HasSubstr("does not rank documents"));
}

}  // namespace
}  // namespace aster::model
