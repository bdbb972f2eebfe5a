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
#include "model/memory/weight_sizes.h"
#include "model/parts/slice.h"
#include "model/shape/shape.h"

namespace aster::engine {

// The last layers of a slice, with the head where the slice has it.
struct GpuLayers {
  std::optional<uint32_t> count = 0;  // none: as many as fit

  bool wanted() const { return count != 0u; }
};

// "auto", or a number.
Result<GpuLayers> ParseGpuLayers(std::string_view text);

// Of a device's memory what is left to the system and to other programs, and what the activations
// of a computation take.
uint64_t GpuReserveBytes(uint64_t available_bytes);
uint64_t GpuScratchBytes(const model::Shape& shape, const model::GroupPart& part = {});

// Memory of weights as they are in files, which need not hold their data.
Result<model::WeightSizes> SizesInFiles(const gguf::ModelFiles& files, const model::Shape& shape,
                                        const model::GroupPart& part = {});

// What all tensors of the files take there.
uint64_t BytesInFiles(const gguf::ModelFiles& files);

// How many fit into `available_bytes` of a device beside its reserve and scratch: their weights,
// and their share of `kv_bytes` of pages.
uint32_t GpuLayersThatFit(const model::WeightSizes& sizes, const model::Shape& shape,
                          const model::Slice& slice, uint64_t kv_bytes, uint64_t available_bytes);

// The same for several devices, of which the last one has the head.
std::vector<uint64_t> GpuRooms(const model::WeightSizes& sizes, const model::Shape& shape,
                               const model::Slice& slice, uint64_t kv_bytes,
                               std::span<const uint64_t> available_bytes);

// The slice without its last layers, and without the head where there are any such.
model::Slice WithoutLast(model::Slice slice, uint32_t layers);

// Layers of each device such that every share, and the first layer of all, is one that a slice of
// the model can begin with: there may be fewer of them, and some go to the next device. `shares`
// are of the slice's last layers.
std::vector<uint32_t> SharesAtCuts(const model::Shape& shape, uint32_t layer_end,
                                   std::vector<uint32_t> shares);

// `layers` shared out by what each device has room for, in layers or bytes: in proportion, whole,
// and never more than its room where that is in layers and all of them fit.
std::vector<uint32_t> ShareOut(uint32_t layers, std::span<const uint64_t> rooms);

}  // namespace aster::engine
