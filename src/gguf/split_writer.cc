// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/split_writer.h"

#include <fmt/format.h>

#include <utility>

#include "base/checked.h"
#include "gguf/split_name.h"

namespace aster::gguf {
namespace {

// Sets the keys by which a part finds the others.
void SetSplitKeys(MetadataBuilder& metadata, size_t index, size_t count, size_t tensor_count) {
  metadata.Set(kSplitIndexKey, static_cast<uint16_t>(index));
  metadata.Set(kSplitCountKey, static_cast<uint16_t>(count));
  metadata.Set(kSplitTensorCountKey, static_cast<int32_t>(tensor_count));
}

}  // namespace

Result<std::vector<std::vector<TensorSpec>>> CutTensors(const std::vector<TensorSpec>& tensors,
                                                        uint64_t max_bytes) {
  std::vector<std::vector<TensorSpec>> groups(1);
  uint64_t group_bytes = 0;
  for (const TensorSpec& tensor : tensors) {
    const uint64_t bytes =
        TRY(TensorBytes(tensor.type, tensor.dims).In(fmt::format("tensor {}", tensor.name)));
    const auto sum = CheckedAdd(group_bytes, bytes);
    if (!groups.back().empty() && (!sum || *sum > max_bytes)) {
      groups.emplace_back();
      group_bytes = bytes;
    } else {
      group_bytes = sum.value_or(bytes);
    }
    groups.back().push_back(tensor);
  }
  return groups;
}

Result<SplitWriter> SplitWriter::Create(const std::string& prefix, const MetadataBuilder& metadata,
                                        const std::vector<TensorSpec>& tensors,
                                        uint64_t max_data_bytes) {
  auto groups = TRY(CutTensors(tensors, max_data_bytes).In(prefix));
  if (groups.size() > kMaxSplitCount) {
    return InvalidArgument(
        fmt::format("{}: {} parts would be needed, at most {} are possible; allow larger parts",
                    prefix, groups.size(), kMaxSplitCount));
  }
  const auto count = static_cast<uint32_t>(groups.size());
  SplitWriter split;
  for (uint32_t i = 0; i < count; ++i) {
    MetadataBuilder keys = i == 0 ? metadata : MetadataBuilder();
    SetSplitKeys(keys, i, count, tensors.size());
    if (const auto* alignment = metadata.Find("general.alignment"); alignment && i > 0) {
      keys.Set("general.alignment", LoadUnaligned<uint32_t>(alignment->bytes.data()));
    }
    split.paths_.push_back(SplitPath(prefix, i, count));
    split.writers_.push_back(TRY(Writer::Create(split.paths_.back(), keys, groups[i])));
  }
  return split;
}

Status SplitWriter::Append(std::string_view tensor, Bytes piece) {
  while (current_ + 1 < writers_.size() && writers_[current_].complete()) ++current_;
  return writers_[current_].Append(tensor, piece);
}

Status SplitWriter::Finish() {
  for (const Writer& writer : writers_) TRY(writer.CheckComplete());
  for (Writer& writer : writers_) TRY(writer.Finish());
  return Ok();
}

}  // namespace aster::gguf
