// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/quantize_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/check.h"
#include "quant/dequantize.h"

namespace aster::quant {
namespace {

using gguf::TensorType;

// The revision of the block formats that all tools have written since 2023.
constexpr uint32_t kQuantizationVersion = 2;

bool IsBlockType(TensorType type) { return gguf::FindTensorType(type)->block_elements > 1; }

class Planner {
 public:
  Planner(const gguf::ModelFiles& files, TypeRules rules, const ImportanceMatrix* importance)
      : files_(files), rules_(std::move(rules)), importance_(importance) {
    rules_.has_importance = importance != nullptr;
  }

  Result<QuantizePlan> Plan() {
    CHECK(rules_.recipe != nullptr);
    TRY(CheckOverrides());
    const ModelTraits traits = ReadTraits(files_);
    for (const gguf::ModelFiles::Entry& entry : EntriesInFileOrder()) {
      TRY(Add(entry, ChooseType(rules_, traits, *entry.tensor)));
    }
    PlanMetadata();
    AddWarnings();
    return std::move(plan_);
  }

 private:
  std::vector<gguf::ModelFiles::Entry> EntriesInFileOrder() const {
    std::vector<gguf::ModelFiles::Entry> entries(files_.entries().begin(), files_.entries().end());
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.file_index, a.tensor->offset, a.tensor->name) <
             std::tuple(b.file_index, b.tensor->offset, b.tensor->name);
    });
    return entries;
  }

  // A pattern that matches nothing is probably mistyped.
  Status CheckOverrides() const {
    for (const TypeOverride& entry : rules_.overrides) {
      const bool is_used = std::any_of(
          files_.entries().begin(), files_.entries().end(),
          [&](const auto& e) { return e.tensor->dim_count >= 2 && entry.Matches(e.tensor->name); });
      if (!is_used) {
        return InvalidArgument(
            fmt::format("'{}' matches no matrix of the model; `aster inspect --tensors` lists them",
                        entry.pattern));
      }
    }
    return Ok();
  }

  Status Add(const gguf::ModelFiles::Entry& entry, TypeChoice choice) {
    const gguf::Tensor& tensor = *entry.tensor;
    PlannedTensor planned{.tensor = &tensor,
                          .file_index = entry.file_index,
                          .type = choice.type,
                          .bytes = 0,
                          .importance = {},
                          .note = std::move(choice.note)};
    if (!tensor.size_known || (planned.converts() && FindDecoder(tensor.type) == nullptr)) {
      return Unimplemented(fmt::format("'{}' is of type {}, which cannot be turned into floats",
                                       tensor.name, gguf::TensorTypeName(tensor.type)));
    }
    planned.bytes = TRY(gguf::TensorBytes(planned.type, tensor.shape()).In(tensor.name));
    if (planned.converts()) {
      if (IsBlockType(tensor.type)) requantized_.insert(tensor.type);
      if (IsBlockType(planned.type)) planned.importance = TRY(ImportanceOf(tensor));
      if (planned.type == TensorType::kIQ2_XXS && planned.importance.empty()) ++blind_count_;
    }
    plan_.bytes_before += tensor.data.size();
    plan_.bytes_after += planned.bytes;
    plan_.tensors.push_back(std::move(planned));
    return Ok();
  }

  Result<std::span<const float>> ImportanceOf(const gguf::Tensor& tensor) const {
    if (importance_ == nullptr) return std::span<const float>();
    const std::span<const float> found = importance_->Find(tensor.name);
    const uint64_t matrices = tensor.dims[2] * tensor.dims[3];
    if (found.empty() || found.size() == tensor.dims[0] * matrices) return found;
    // Embeddings are not multiplied with: the importance is that of the head, the same tensor.
    if (tensor.name == "token_embd.weight") return std::span<const float>();
    return InvalidArgument(fmt::format(
        "the importance matrix has {} numbers for '{}', whose {} matrices have {} columns: it is "
        "of another model",
        found.size(), tensor.name, matrices, tensor.dims[0]));
  }

  void PlanMetadata() {
    plan_.metadata.CopyAll(files_.metadata());
    plan_.metadata.RemovePrefix("split.");
    plan_.metadata.Set<uint32_t>("general.file_type", rules_.recipe->file_type);
    plan_.metadata.Set<uint32_t>("general.quantization_version", kQuantizationVersion);
    plan_.metadata.RemovePrefix("quantize.imatrix.");
    if (importance_ != nullptr) {
      plan_.metadata.Set<uint32_t>("quantize.imatrix.entries_count",
                                   static_cast<uint32_t>(importance_->size()));
      plan_.metadata.Set<uint32_t>("quantize.imatrix.chunks_count", importance_->chunk_count());
    }
  }

  void AddWarnings() {
    if (!requantized_.empty()) {
      std::string names;
      for (const TensorType type : requantized_) {
        names += (names.empty() ? "" : ", ") + gguf::TensorTypeName(type);
      }
      plan_.warnings.push_back(fmt::format(
          "the model is quantised already ({}), and quantising again adds its error to that; start "
          "from F32, BF16 or F16 if you can",
          names));
    }
    if (blind_count_ > 0) {
      plan_.warnings.push_back(fmt::format(
          "{} tensors go to IQ2_XXS without an importance matrix, which costs quality; give one "
          "with --imatrix if you can",
          blind_count_));
    }
  }

  const gguf::ModelFiles& files_;
  TypeRules rules_;
  const ImportanceMatrix* importance_;
  QuantizePlan plan_;
  std::set<TensorType> requantized_;  // block types that are decoded and encoded again
  size_t blind_count_ = 0;            // tensors of two bits without importance
};

}  // namespace

Result<QuantizePlan> PlanQuantization(const gguf::ModelFiles& files, TypeRules rules,
                                      const ImportanceMatrix* importance) {
  return Planner(files, std::move(rules), importance).Plan();
}

}  // namespace aster::quant
