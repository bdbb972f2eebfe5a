// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/weights/weight_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "quant/dequantize.h"
#include "quant/half.h"

namespace aster::model {

Result<compute::Matrix> RowsOfHeads(const gguf::Tensor& tensor,
                                    std::initializer_list<RowsOfHead> ranges, uint64_t step,
                                    compute::Backend& backend, RowsOfHead some) {
  const uint64_t row_bytes = tensor.data.size() / tensor.dims[1];
  const uint64_t end = some.count == 0 ? UINT64_MAX : some.first + some.count;
  // A temporary copy for packing.
  std::vector<uint8_t> bytes;
  uint64_t row = 0;
  for (const RowsOfHead& range : ranges) {
    for (uint64_t head = 0; head < tensor.dims[1]; head += step, row += range.count) {
      const uint64_t first = std::clamp(some.first, row, row + range.count) - row;
      const uint64_t last = std::clamp(end, row, row + range.count) - row;
      const Bytes rows =
          tensor.data.subspan((head + range.first + first) * row_bytes, (last - first) * row_bytes);
      bytes.insert(bytes.end(), rows.begin(), rows.end());
    }
  }
  gguf::Tensor part = tensor;
  part.dims[1] = bytes.size() / row_bytes;
  part.data = bytes;
  return compute::Matrix::Pack(part, 0, backend);
}

Result<compute::Matrix> HalfOfColumns(const gguf::Tensor& tensor, size_t half,
                                      compute::Backend& backend) {
  gguf::Tensor part = tensor;
  part.dims[0] = tensor.dims[0] / 2;
  const std::optional<uint64_t> row_bytes = gguf::RowBytes(tensor.type, part.dims[0]);
  if (!row_bytes) {
    return DataLoss(fmt::format("{} has halves of {} numbers, no whole blocks of {}", tensor.name,
                                part.dims[0], gguf::TensorTypeName(tensor.type)));
  }
  // A temporary copy for packing: halves of a row are whole blocks.
  std::vector<uint8_t> bytes(*row_bytes * tensor.dims[1]);
  for (uint64_t row = 0; row < tensor.dims[1]; ++row) {
    std::memcpy(bytes.data() + row * *row_bytes, tensor.data.data() + (2 * row + half) * *row_bytes,
                *row_bytes);
  }
  part.data = bytes;
  return compute::Matrix::Pack(part, 0, backend);
}

Result<compute::Matrix> PackFloats(const gguf::Tensor& tensor, std::span<const float> values,
                                   compute::Backend& backend) {
  gguf::Tensor wide = tensor;
  wide.type = gguf::TensorType::kF32;
  wide.data = {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
  return compute::Matrix::Pack(wide, 0, backend);
}

Result<compute::Matrix> PackCentred(const gguf::Tensor& tensor, std::vector<float> values,
                                    compute::Backend& backend) {
  const uint64_t columns = tensor.dims[0], rows = tensor.dims[1];
  for (uint64_t column = 0; column < columns; ++column) {
    double sum = 0;
    for (uint64_t row = 0; row < rows; ++row) sum += double{values[row * columns + column]};
    const double mean = sum / static_cast<double>(rows);
    for (uint64_t row = 0; row < rows; ++row) {
      float& value = values[row * columns + column];
      value = static_cast<float>(double{value} - mean);
    }
  }
  return PackFloats(tensor, values, backend);
}

Result<compute::Matrix> PackTransposed(const gguf::Tensor& tensor, compute::Backend& backend) {
  std::vector<float> values(tensor.dims[0] * tensor.dims[1]);
  TRY(quant::Dequantize(tensor.type, tensor.data, values).In(std::string(tensor.name)));
  std::vector<uint16_t> halves;
  for (const float value : Transposed(values, tensor.dims[0]))
    halves.push_back(quant::FloatToHalf(value));
  gguf::Tensor transposed = tensor;
  std::swap(transposed.dims[0], transposed.dims[1]);
  transposed.type = gguf::TensorType::kF16;
  transposed.data = {reinterpret_cast<const uint8_t*>(halves.data()),
                     halves.size() * sizeof(uint16_t)};
  return compute::Matrix::Pack(transposed, 0, backend);
}

Result<std::vector<int32_t>> ReadExpertTable(const gguf::Tensor& tensor, uint32_t count) {
  std::vector<int32_t> experts(tensor.element_count);
  std::memcpy(experts.data(), tensor.data.data(), experts.size() * sizeof(int32_t));
  for (const int32_t expert : experts) {
    if (expert < 0 || static_cast<uint32_t>(expert) >= count)
      return DataLoss(fmt::format("{} names expert {} of {}", tensor.name, expert, count));
  }
  return experts;
}

std::vector<float> Transposed(std::span<const float> rows, size_t columns) {
  const size_t count = rows.size() / columns;
  std::vector<float> transposed(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) transposed[i % columns * count + i / columns] = rows[i];
  return transposed;
}

}  // namespace aster::model
