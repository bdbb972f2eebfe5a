// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/files/rank_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "model/files/pooling.h"
#include "quant/dequantize.h"

namespace aster::model {
namespace {

constexpr std::string_view kDense = "cls.weight";
constexpr std::string_view kDenseBias = "cls.bias";
constexpr std::string_view kOutput = "cls.output.weight";
constexpr std::string_view kOutputBias = "cls.output.bias";

// weights [outputs, row.size()] times the row, plus the bias unless it is empty.
std::vector<double> Project(std::span<const float> weights, std::span<const float> bias,
                            std::span<const double> row, size_t outputs) {
  std::vector<double> result(outputs);
  for (size_t o = 0; o < outputs; ++o) {
    double sum = bias.empty() ? 0 : static_cast<double>(bias[o]);
    for (size_t i = 0; i < row.size(); ++i)
      sum += static_cast<double>(weights[o * row.size() + i]) * row[i];
    result[o] = sum;
  }
  return result;
}

// The tensor's numbers; empty if there is no such tensor. An error if it has another shape.
Result<std::vector<float>> ReadNumbers(const gguf::ModelFiles& files, std::string_view name,
                                       std::vector<uint64_t> dims) {
  std::vector<float> numbers;
  const gguf::Tensor* const tensor = files.FindTensor(name);
  if (tensor == nullptr) return numbers;
  while (dims.size() > tensor->dim_count && dims.back() == 1) dims.pop_back();
  if (!std::ranges::equal(tensor->shape(), dims)) {
    return DataLoss(fmt::format("tensor {} is {}, [{}] is needed", name, gguf::ShapeText(*tensor),
                                fmt::join(dims, ", ")));
  }
  numbers.resize(tensor->element_count);
  TRY(quant::Dequantize(tensor->type, tensor->data, numbers).In(std::string(name)));
  return numbers;
}

// Of several classes the one that is named yes, otherwise the first.
Result<size_t> RelevantLabel(const gguf::Metadata& metadata, const std::string& arch,
                             size_t label_count) {
  const auto labels = TRY(metadata.GetOr<std::vector<std::string>>(
      arch + ".classifier.output_labels", std::vector<std::string>()));
  const auto yes = std::ranges::find(labels, "yes");
  if (yes == labels.end()) return size_t{0};
  const auto label = static_cast<size_t>(yes - labels.begin());
  if (label < label_count) return label;
  return DataLoss(fmt::format("{}.classifier.output_labels has {} labels, and {} has {}", arch,
                              labels.size(), kOutput, label_count));
}

Result<RankHead> ReadHead(const gguf::ModelFiles& files, const std::string& arch) {
  const gguf::Metadata& metadata = files.metadata();
  const auto width = TRY(metadata.Get<uint64_t>(arch + ".embedding_length"));
  const gguf::Tensor* const output = files.FindTensor(kOutput);
  if (output == nullptr) {
    return DataLoss(
        fmt::format("{}.pooling_type is rank, and tensor {} is missing: this file has lost its "
                    "head; convert the model again",
                    arch, kOutput));
  }
  RankHead head;
  head.width = width;
  head.label_count = output->dims[1];
  head.output = TRY(ReadNumbers(files, kOutput, {width, head.label_count}));
  head.output_bias = TRY(ReadNumbers(files, kOutputBias, {head.label_count}));
  head.dense = TRY(ReadNumbers(files, kDense, {width, width}));
  head.dense_bias = TRY(ReadNumbers(files, kDenseBias, {width}));
  head.relevant_label = TRY(RelevantLabel(metadata, arch, head.label_count));
  head.form = TRY(metadata.GetOr<std::string>("tokenizer.chat_template.rerank", std::string()));
  return head;
}

}  // namespace

double RankHead::RawScore(std::span<const float> row) const {
  std::vector<double> values(row.begin(), row.end());
  if (!dense.empty()) {
    values = Project(dense, dense_bias, values, width);
    for (double& value : values) value = std::tanh(value);
  }
  const std::vector<double> scores = Project(output, output_bias, values, label_count);
  if (label_count == 1) return scores.front();
  // Its logit against all other classes together, whose probabilities are added up.
  double highest = -std::numeric_limits<double>::infinity();
  for (size_t label = 0; label < label_count; ++label)
    if (label != relevant_label) highest = std::max(highest, scores[label]);
  double sum = 0;
  for (size_t label = 0; label < label_count; ++label)
    if (label != relevant_label) sum += std::exp(scores[label] - highest);
  return scores[relevant_label] - highest - std::log(sum);
}

double RankHead::Relevance(std::span<const float> row) const {
  return 1 / (1 + std::exp(-RawScore(row)));
}

bool IsTensorOfRankHead(std::string_view name) {
  return name == kDense || name == kDenseBias || name == kOutput || name == kOutputBias;
}

Result<std::shared_ptr<const RankHead>> ReadRankHead(const gguf::ModelFiles& files) {
  const gguf::Metadata& metadata = files.metadata();
  const auto arch = TRY(metadata.Get<std::string>("general.architecture"));
  const Pooling pooling = TRY(ReadPooling(metadata));
  if (pooling == Pooling::kRank)
    return std::make_shared<const RankHead>(TRY(ReadHead(files, arch)));
  if (NamesPooling(metadata)) return std::shared_ptr<const RankHead>();
  return Unimplemented(
      fmt::format("this model does not rank documents: its file has no {}.pooling_type; serve a "
                  "reranker (pooling rank, such as Qwen3-Reranker with its head) or an embedding "
                  "model",
                  arch));
}

}  // namespace aster::model
