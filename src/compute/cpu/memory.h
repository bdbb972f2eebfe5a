// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Memory of the CPU back end, and addresses of tensors and matrices in it. Only for this folder.
// Any CPU back end can use the memory of any other.
#pragma once

#include <utility>

#include "compute/buffer.h"
#include "compute/matrix.h"
#include "compute/tensor.h"

namespace aster::compute {

class CpuMemory final : public Memory {
 public:
  explicit CpuMemory(Buffer buffer) : Memory(buffer.bytes()), buffer_(std::move(buffer)) {}

  uint8_t* data() { return buffer_.data(); }
  const uint8_t* data() const { return buffer_.data(); }

 private:
  Buffer buffer_;
};

// The address of the first element; null for an empty tensor.
inline float* Floats(const Tensor& tensor) {
  DCHECK(tensor.element == Element::kF32);
  if (tensor.empty()) return nullptr;
  return reinterpret_cast<float*>(static_cast<CpuMemory*>(tensor.memory)->data() + tensor.offset);
}

inline int32_t* Integers(const Tensor& tensor) {
  DCHECK(tensor.element == Element::kI32);
  if (tensor.empty()) return nullptr;
  return reinterpret_cast<int32_t*>(static_cast<CpuMemory*>(tensor.memory)->data() + tensor.offset);
}

inline const uint8_t* PackedData(const Matrix& matrix) {
  return static_cast<const CpuMemory&>(matrix.memory()).data() + matrix.offset();
}

}  // namespace aster::compute
