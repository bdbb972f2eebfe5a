// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Reads one GGUF file, versions 2 and 3: its metadata and its list of tensors. The file is not
// trusted: everything is checked before use; tensor data is mapped, but not read. Must not know
// other files of the same model (model_files.h) nor the purpose of tensors.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/mapped_file.h"
#include "base/result.h"
#include "gguf/metadata.h"
#include "gguf/types.h"

namespace aster::gguf {

inline constexpr uint32_t kMaxDims = 4;
inline constexpr uint64_t kDefaultAlignment = 32;

// One tensor of a file; name and data are views into the file's bytes.
struct Tensor {
  std::string_view name;
  TensorType type = TensorType::kF32;
  uint32_t dim_count = 0;
  // [row length, rows, matrices, ...]: the first dimension is contiguous. Ones from dim_count on.
  std::array<uint64_t, kMaxDims> dims = {1, 1, 1, 1};
  uint64_t element_count = 0;
  uint64_t offset = 0;  // of the data, from the beginning of the file
  // A tensor of unknown type has no known size: it is listed, and data is empty.
  bool size_known = false;
  Bytes data;

  std::span<const uint64_t> shape() const { return {dims.data(), dim_count}; }
};

// "[4096, 32000]"
std::string ShapeText(const Tensor& tensor);

// Constant after it is made, so any number of threads may read. Views into it live as long as the
// File, and stay valid when it moves.
class File {
 public:
  static Result<File> Open(const std::string& path);
  // Parses bytes in memory, which must outlive the File. (Only aligned bytes give aligned tensors.)
  static Result<File> Parse(Bytes bytes);
  // From only the head (everything before the tensors' data) of a file of `size_bytes`, which has
  // this name elsewhere. Tensors have offsets, but no data.
  static Result<File> ParseHead(std::vector<uint8_t> head, uint64_t size_bytes,
                                std::string name = {});
  // From the head, and a file with some of the data at the offsets in the head. Tensors for which
  // `is_there` is false (by their index) are left out, as if the file did not have them.
  static Result<File> OpenPartial(std::vector<uint8_t> head, const std::string& data_path,
                                  FunctionRef<bool(size_t tensor_index)> is_there);

  // Empty if the file was parsed from memory.
  const std::string& path() const { return name_.empty() ? mapped_.path() : name_; }
  const MappedFile& mapped() const { return mapped_; }

  uint32_t version() const { return version_; }
  uint64_t alignment() const { return alignment_; }
  uint64_t size_bytes() const { return size_bytes_; }
  // Everything before the tensors' data.
  Bytes head() const {
    return bytes_.first(data_offset_ < bytes_.size() ? data_offset_ : bytes_.size());
  }
  uint64_t data_offset() const { return data_offset_; }

  const Metadata& metadata() const { return metadata_; }
  // In the file's order.
  std::span<const Tensor> tensors() const { return tensors_; }
  // All names in the head, including tensors that OpenPartial has left out.
  std::span<const std::string_view> listed_names() const { return listed_names_; }
  // Null if there is no such tensor.
  const Tensor* FindTensor(std::string_view name) const;

  // Renames a tensor, if it exists, to an unused name: while one model is made of several files,
  // before other threads read.
  void Rename(std::string_view name, std::string new_name);

 private:
  friend class FileParser;

  static Result<File> ParseOwnHead(std::vector<uint8_t> head, uint64_t size_bytes, Bytes data);

  MappedFile mapped_;
  std::string name_;           // if there is no mapped_
  std::vector<uint8_t> head_;  // if it is not in mapped_
  Bytes bytes_;                // begin with the head: the whole file, or head_
  uint64_t size_bytes_ = 0;
  uint32_t version_ = 0;
  uint64_t alignment_ = kDefaultAlignment;
  uint64_t data_offset_ = 0;
  Metadata metadata_;
  std::vector<Tensor> tensors_;
  std::vector<size_t> by_name_;  // indices of tensors_, by ascending name
  std::vector<std::string_view> listed_names_;
  std::deque<std::string> new_names_;  // of renamed tensors; do not move
};

}  // namespace aster::gguf
