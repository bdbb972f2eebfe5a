// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Writes a model as several files, each of at most a given size if its tensors allow. ModelFiles
// finds all of them again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "gguf/writer.h"

namespace aster::gguf {

// Not for concurrent use. As with Writer, no file appears before Finish.
class SplitWriter {
 public:
  // Files PREFIX-00001-of-0000N.gguf, each with at most `max_data_bytes` of tensors, or one tensor
  // that is larger. The first has all metadata.
  static Result<SplitWriter> Create(const std::string& prefix, const MetadataBuilder& metadata,
                                    const std::vector<TensorSpec>& tensors,
                                    uint64_t max_data_bytes);

  // As Writer::Append.
  Status Append(std::string_view tensor, Bytes piece);
  Status Finish();

  // The files, in order.
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  SplitWriter() = default;

  std::vector<std::string> paths_;
  std::vector<Writer> writers_;
  size_t current_ = 0;
};

// Divides tensors, in their order, into groups of at most `max_bytes` each, or of one tensor.
Result<std::vector<std::vector<TensorSpec>>> CutTensors(const std::vector<TensorSpec>& tensors,
                                                        uint64_t max_bytes);

}  // namespace aster::gguf
