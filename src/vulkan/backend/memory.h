// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Memory of a device back end, and addresses of tensors for its shaders. Only for this folder.
#pragma once

#include <cstdint>
#include <utility>

#include "compute/matrix.h"
#include "compute/tensor.h"
#include "vulkan/backend/hazards.h"
#include "vulkan/driver/buffer.h"
#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

class DeviceMemory final : public compute::Memory {
 public:
  // `bytes` as requested; the buffer may be larger, as it is never empty.
  DeviceMemory(Buffer buffer, size_t bytes) : Memory(bytes), buffer_(std::move(buffer)) {}

  const Buffer& buffer() const { return buffer_; }

 private:
  Buffer buffer_;
};

inline const Buffer& BufferOf(const compute::Tensor& tensor) {
  return static_cast<const DeviceMemory*>(tensor.memory)->buffer();
}

// Zero for an empty tensor.
inline Address AddressOf(const compute::Tensor& tensor) {
  return tensor.empty() ? 0 : BufferOf(tensor).address() + tensor.offset;
}

inline Address AddressOf(const compute::Matrix& matrix) {
  return static_cast<const DeviceMemory&>(matrix.memory()).buffer().address() + matrix.offset();
}

// From its first element to its last.
inline Range RangeOf(const compute::Tensor& tensor) {
  if (tensor.empty() || tensor.rows == 0) return {};
  const size_t elements = (tensor.rows - 1) * tensor.stride + tensor.columns;
  return {AddressOf(tensor), elements * compute::kElementBytes};
}

inline bool IsDense(const compute::Tensor& tensor) {
  return tensor.stride == tensor.columns || tensor.rows <= 1;
}

}  // namespace aster::vulkan
