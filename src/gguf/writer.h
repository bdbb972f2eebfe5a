// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Writes GGUF files, version 3, of any size in little memory: metadata and the list of tensors
// first, then every tensor's bytes in pieces. Knows nothing of the content.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "gguf/file.h"
#include "gguf/metadata_builder.h"
#include "gguf/part_file.h"
#include "gguf/types.h"

namespace aster::gguf {

// A tensor to write.
struct TensorSpec {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<uint64_t> dims;  // [row length, rows, ...]

  static TensorSpec Like(const Tensor& tensor) {
    return {std::string(tensor.name), tensor.type, {tensor.shape().begin(), tensor.shape().end()}};
  }
};

// Not for concurrent use. The file appears under its name only when Finish succeeds; a Writer that
// is destroyed before leaves nothing.
class Writer {
 public:
  // Data is aligned to the metadata's general.alignment, if set.
  static Result<Writer> Create(const std::string& path, const MetadataBuilder& metadata,
                               const std::vector<TensorSpec>& tensors);

  // The next piece of a tensor's data. Tensors come in the order of Create, each with exactly its
  // bytes; anything else is an error that says what was expected.
  Status Append(std::string_view tensor, Bytes piece);

  // Whether every tensor has its bytes; the error says which do not.
  bool complete() const { return current_ == tensors_.size(); }
  Status CheckComplete() const;

  // An error if bytes are missing.
  Status Finish();

  // The bytes of the whole file.
  uint64_t file_bytes() const { return file_bytes_; }

 private:
  struct Planned {
    std::string name;
    uint64_t bytes;
  };

  Writer(PartFile file, std::vector<Planned> tensors, uint64_t alignment, uint64_t file_bytes)
      : file_(std::move(file)),
        tensors_(std::move(tensors)),
        alignment_(alignment),
        file_bytes_(file_bytes) {}

  Status EndTensor();

  PartFile file_;
  std::vector<Planned> tensors_;
  uint64_t alignment_;
  uint64_t file_bytes_;
  size_t current_ = 0;       // the tensor whose bytes are expected
  uint64_t done_bytes_ = 0;  // of this tensor
};

}  // namespace aster::gguf
