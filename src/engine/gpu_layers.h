// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How many layers of a slice GPUs compute: as the user says, or as many as their memory holds. Must
// not know how devices are opened.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/model_files.h"
#include "kv/layout.h"
#include "model/shape.h"
#include "model/slice.h"

namespace aster::engine {

// The last layers of a slice, with the head where the slice has it.
struct GpuLayers {
  std::optional<uint32_t> count = 0;  // none: as many as fit

  bool wanted() const { return count != 0u; }
};

// "auto", or a number.
Result<GpuLayers> ParseGpuLayers(std::string_view text);

// How many fit into `available_bytes` of a device beside what a computation needs and a reserve for
// others: their weights, and their share of `kv_bytes` of pages.
Result<uint32_t> GpuLayersThatFit(const gguf::ModelFiles& files, const model::Shape& shape,
                                  const model::Slice& slice, uint64_t kv_bytes,
                                  uint64_t available_bytes);

// `layers` shared out by what each device has room for, in layers or bytes: in proportion, whole,
// and never more than its room where that is in layers and all of them fit.
std::vector<uint32_t> ShareOut(uint32_t layers, std::span<const uint64_t> rooms);

}  // namespace aster::engine
