// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Packs the rows of a file to panels (packed.h). Packing is the same on every machine and loses
// nothing. Must not know files, tensors or threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "gguf/types.h"
#include "kernels/packed.h"
#include "kernels/weight_type.h"

namespace aster::kernels {

// What a file's type is packed as; nothing if there is no kernel for it. Several types may be
// packed as one: every weight keeps its value, but some take more memory than in the file.
std::optional<WeightType> WeightTypeOf(gguf::TensorType type);

// "Q4_K".
const char* WeightTypeName(WeightType type);

inline size_t PanelCount(size_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }

// The bytes of one panel: a multiple of 32.
size_t PanelBytes(WeightType type, size_t columns);

// The columns of a matrix are a multiple of this.
size_t ColumnMultiple(WeightType type);

struct PackSource {
  const void* data;   // the first row, in the file's format, aligned or not
  size_t row_stride;  // bytes from row to row
  size_t rows;
  size_t columns;
};

// Writes panels `panel_begin` to `panel_end` of the source, whose type has a kernel; panel i goes
// to out + i * PanelBytes(*WeightTypeOf(type), columns). In the last panel, rows beyond the matrix
// are zero. Calls for different panels may run at the same time.
void PackPanels(gguf::TensorType type, const PackSource& source, size_t panel_begin,
                size_t panel_end, void* out);

}  // namespace aster::kernels
