// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/writer.h"

#include <fmt/format.h>

#include <bit>
#include <limits>
#include <set>
#include <utility>

#include "base/checked.h"
#include "base/utf8.h"

namespace aster::gguf {
namespace {

constexpr uint32_t kVersion = 3;
// Limits of the usual readers.
constexpr size_t kMaxTensorNameBytes = 63;
constexpr size_t kMaxKeyBytes = 65535;
constexpr uint32_t kMaxAlignment = 1 << 20;  // more would only waste space

Status CheckName(std::string_view name, size_t max_bytes) {
  if (name.empty()) return InvalidArgument("a name must not be empty");
  if (name.size() > max_bytes) {
    return InvalidArgument(fmt::format("the name {} has {} bytes; at most {} are possible",
                                       NameText(name), name.size(), max_bytes));
  }
  if (!IsValidUtf8(name)) return InvalidArgument("a name must be UTF-8");
  return Ok();
}

Result<uint64_t> AlignmentOf(const MetadataBuilder& metadata) {
  constexpr std::string_view kKey = "general.alignment";
  const MetadataBuilder::Encoded* value = metadata.Find(kKey);
  if (value == nullptr) return kDefaultAlignment;
  if (value->type == ValueType::kUint32) {
    const auto alignment = LoadUnaligned<uint32_t>(value->bytes.data());
    if (std::has_single_bit(alignment) && alignment >= 8 && alignment <= kMaxAlignment) {
      return uint64_t{alignment};
    }
  }
  return InvalidArgument(
      fmt::format("{} must be a power of two from 8 to {}, as u32", kKey, kMaxAlignment));
}

Status WriteMetadata(ByteWriter& out, const MetadataBuilder& metadata) {
  for (const std::string& key : metadata.keys()) {
    TRY(CheckName(key, kMaxKeyBytes).In("a metadata key"));
    const MetadataBuilder::Encoded* value = metadata.Find(key);
    WriteText(out, key);
    out.Write<uint32_t>(static_cast<uint32_t>(value->type));
    out.WriteBytes(value->bytes);
  }
  return Ok();
}

Result<uint64_t> CheckedBytes(const TensorSpec& tensor) {
  TRY(CheckName(tensor.name, kMaxTensorNameBytes));
  if (tensor.dims.size() > kMaxDims) {
    return InvalidArgument(
        fmt::format("it has {} dimensions; at most {} are possible", tensor.dims.size(), kMaxDims));
  }
  uint64_t elements = 1;
  for (const uint64_t dim : tensor.dims) {
    const auto product = CheckedMul(elements, dim);
    if (dim == 0 || !product || !std::in_range<int64_t>(*product)) {
      return InvalidArgument(fmt::format("no tensor can have {} as a dimension", dim));
    }
    elements = *product;
  }
  return TensorBytes(tensor.type, tensor.dims);
}

// Writes the tensor's entry, with its data at `offset`, and advances `offset` past it.
Result<uint64_t> WriteEntry(ByteWriter& out, const TensorSpec& tensor, uint64_t alignment,
                            uint64_t& offset) {
  const uint64_t bytes = TRY(CheckedBytes(tensor));
  WriteText(out, tensor.name);
  out.Write<uint32_t>(static_cast<uint32_t>(tensor.dims.size()));
  for (const uint64_t dim : tensor.dims) out.Write<uint64_t>(dim);
  out.Write<uint32_t>(static_cast<uint32_t>(tensor.type));
  out.Write<uint64_t>(offset);
  const auto end = CheckedAdd(offset, bytes);
  const auto next = end ? CheckedRoundUp(*end, alignment) : std::nullopt;
  if (!next || !std::in_range<int64_t>(*next)) return OutOfRange("the file would be too large");
  offset = *next;
  return bytes;
}

}  // namespace

// Makes the whole head first: it fixes the place of every tensor and the size of the file.
Result<Writer> Writer::Create(const std::string& path, const MetadataBuilder& metadata,
                              const std::vector<TensorSpec>& tensors) {
  const uint64_t alignment = TRY(AlignmentOf(metadata).In(path));
  ByteWriter head;
  head.WriteBytes(AsBytes("GGUF"));
  head.Write<uint32_t>(kVersion);
  head.Write<uint64_t>(tensors.size());
  head.Write<uint64_t>(metadata.size());
  TRY(WriteMetadata(head, metadata).In(path));

  std::vector<Planned> planned;
  std::set<std::string_view> names;
  uint64_t data_bytes = 0;
  for (const TensorSpec& tensor : tensors) {
    const std::string where = fmt::format("{}: tensor {}", path, NameText(tensor.name));
    const uint64_t bytes = TRY(WriteEntry(head, tensor, alignment, data_bytes).In(where));
    if (!names.insert(tensor.name).second) return InvalidArgument(where + " is given twice");
    planned.push_back({tensor.name, bytes});
  }
  head.PadTo(alignment);

  const auto file_bytes = CheckedAdd<uint64_t>(head.size(), data_bytes);
  if (!file_bytes || !std::in_range<int64_t>(*file_bytes)) {
    return OutOfRange(path + ": the file would be too large");
  }
  PartFile file = TRY(PartFile::Create(path, *file_bytes));
  TRY(file.Append(head.bytes()));
  return Writer(std::move(file), std::move(planned), alignment, *file_bytes);
}

Status Writer::Append(std::string_view tensor, Bytes piece) {
  if (complete()) {
    return FailedPrecondition(
        fmt::format("{}: all tensors are written, yet there is more of {}", file_.path(), tensor));
  }
  const Planned& due = tensors_[current_];
  const uint64_t missing_bytes = due.bytes - done_bytes_;
  if (tensor != due.name) {
    return FailedPrecondition(fmt::format("{}: {} bytes of the tensor {} are due, not {}",
                                          file_.path(), missing_bytes, due.name, tensor));
  }
  if (piece.size() > missing_bytes) {
    return FailedPrecondition(fmt::format("{}: the tensor {} has {} bytes, not {} more",
                                          file_.path(), due.name, due.bytes,
                                          piece.size() - missing_bytes));
  }
  TRY(file_.Append(piece));
  done_bytes_ += piece.size();
  return done_bytes_ == due.bytes ? EndTensor() : Ok();
}

Status Writer::EndTensor() {
  const uint64_t padding = (alignment_ - done_bytes_ % alignment_) % alignment_;
  TRY(file_.Append(std::vector<uint8_t>(padding)));
  ++current_;
  done_bytes_ = 0;
  return Ok();
}

Status Writer::CheckComplete() const {
  if (complete()) return Ok();
  const Planned& due = tensors_[current_];
  return FailedPrecondition(
      fmt::format("{}: {} bytes of the tensor {} are missing, and {} tensors after it",
                  file_.path(), due.bytes - done_bytes_, due.name, tensors_.size() - current_ - 1));
}

Status Writer::Finish() {
  TRY(CheckComplete());
  return file_.Finish();
}

}  // namespace aster::gguf
