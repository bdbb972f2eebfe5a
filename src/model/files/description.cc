// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/files/description.h"

#include <charconv>

namespace aster::model {
namespace {

std::optional<uint64_t> NumberAt(const gguf::Metadata& metadata, std::string_view key) {
  const auto value = metadata.Get<uint64_t>(key);
  return value.ok() ? std::optional(*value) : std::nullopt;
}

}  // namespace

void Totals::Add(const gguf::Tensor& tensor) {
  ++tensor_count;
  parameter_count += tensor.element_count;
  bytes += tensor.data.size();
  if (!tensor.size_known) ++unknown_count;
}

double Totals::BitsPerParameter() const {
  return parameter_count == 0
             ? 0.0
             : 8.0 * static_cast<double>(bytes) / static_cast<double>(parameter_count);
}

void Mix::Add(const gguf::Tensor& tensor) {
  all.Add(tensor);
  by_type[tensor.type].Add(tensor);
}

std::optional<uint32_t> LayerOf(std::string_view tensor_name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!tensor_name.starts_with(kPrefix)) return std::nullopt;
  const char* begin = tensor_name.data() + kPrefix.size();
  const char* end = tensor_name.data() + tensor_name.size();
  uint32_t layer = 0;
  const auto [stop, error] = std::from_chars(begin, end, layer);
  if (error != std::errc() || stop == end || *stop != '.') return std::nullopt;
  return layer;
}

Description Describe(const gguf::ModelFiles& files) {
  Description description;
  const gguf::Metadata& metadata = files.metadata();
  if (auto name = metadata.Get<std::string>("general.architecture"); name.ok()) {
    description.architecture = std::move(*name);
  }
  description.layer_count = NumberAt(metadata, description.architecture + ".block_count");
  description.context_length = NumberAt(metadata, description.architecture + ".context_length");
  for (const gguf::ModelFiles::Entry& entry : files.entries()) {
    const gguf::Tensor& tensor = *entry.tensor;
    description.whole.Add(tensor);
    if (const auto layer = LayerOf(tensor.name)) {
      description.layers[*layer].Add(tensor);
    } else if (tensor.name.starts_with("token_embd.")) {
      description.embedding.Add(tensor);
    } else if (tensor.name.starts_with("output")) {
      description.head.Add(tensor);
    } else {
      description.other.Add(tensor);
    }
  }
  return description;
}

}  // namespace aster::model
