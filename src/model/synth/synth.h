// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Writes models with random weights, of every shape and type, reproducible to the bit, in little
// memory. Their speed is real, their answers are nonsense.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "gguf/types.h"
#include "model/files/block_shape.h"
#include "model/shape/shape.h"
#include "model/shape/tensors.h"

namespace aster::model {

struct SynthOptions {
  Shape shape;
  // A drafter for a model of that shape instead.
  std::optional<BlockShape> drafter = std::nullopt;
  std::string name;
  uint64_t seed = 1;
  // Chooses the type of each tensor; `file_type` is general.file_type.
  std::function<gguf::TensorType(const TensorSpec&)> choose_type;
  uint32_t file_type = 0;
};

using ByteProgress = std::function<void(uint64_t done_bytes, uint64_t total_bytes)>;

// Every tensor of the file.
std::vector<TensorSpec> TensorsOf(const SynthOptions& options);

// The same options write the same file, on every machine and with any number of threads: each
// weight is drawn from (seed, tensor name, index). Needs a few megabytes of memory.
Status WriteSyntheticModel(const SynthOptions& options, const std::string& path, ThreadPool& pool,
                           const ByteProgress& progress);

}  // namespace aster::model
