// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How many layers of a slice are on GPUs: as the user says, or as many as fit. Must not know how
// devices are opened.
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

// The last layers of a slice, with the head if the slice has it.
struct GpuLayers {
  std::optional<uint32_t> count = 0;  // none: as many as fit

  bool wanted() const { return count != 0u; }
};

// "auto", or a number.
Result<GpuLayers> ParseGpuLayers(std::string_view text);

// How much of a device's memory is left to the system and other programs, and how much the
// activations take.
uint64_t GpuReserveBytes(uint64_t available_bytes);
uint64_t GpuScratchBytes(const model::Shape& shape, const model::GroupPart& part = {});

// Bytes of weights by part, from the headers of files, which need not have their data.
Result<model::WeightSizes> SizesInFiles(const gguf::ModelFiles& files, const model::Shape& shape,
                                        const model::GroupPart& part = {});

// The bytes of all tensors of the files in memory.
uint64_t BytesInFiles(const gguf::ModelFiles& files);

// How many layers fit into `available_bytes` of a device beside its reserve and scratch: their
// weights, and their share of `kv_bytes` of pages.
uint32_t GpuLayersThatFit(const model::WeightSizes& sizes, const model::Shape& shape,
                          const model::Slice& slice, uint64_t kv_bytes, uint64_t available_bytes);

// The same for several devices, the last of which has the head.
std::vector<uint64_t> GpuRooms(const model::WeightSizes& sizes, const model::Shape& shape,
                               const model::Slice& slice, uint64_t kv_bytes,
                               std::span<const uint64_t> available_bytes);

// The slice without its last layers; also without the head, unless `layers` is 0.
model::Slice WithoutLast(model::Slice slice, uint32_t layers);

// Moves the borders between devices to layers with which a slice of the model can begin: the sum
// may become smaller, and some layers go to the next device. `shares` are of the slice's last
// layers.
std::vector<uint32_t> SharesAtCuts(const model::Shape& shape, uint32_t layer_end,
                                   std::vector<uint32_t> shares);

// Divides `layers` in proportion to the room of each device, in layers or bytes. Never more than a
// device's room, if that is in layers and all fit.
std::vector<uint32_t> ShareOut(uint32_t layers, std::span<const uint64_t> rooms);

}  // namespace aster::engine
