// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Writes models with random weights: every shape and type there is, reproducible to the bit, in
// little memory. They speak nonsense, at the right speed.
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

namespace aster::model {

struct SynthOptions {
  Shape shape;
  // A drafter for a model of that shape instead.
  std::optional<BlockShape> drafter = std::nullopt;
  std::string name;
  uint64_t seed = 1;
  // The type that each tensor is stored as, and the number that general.file_type says.
  std::function<gguf::TensorType(const TensorSpec&)> choose_type;
  uint32_t file_type = 0;
};

using ByteProgress = std::function<void(uint64_t done_bytes, uint64_t total_bytes)>;

// Every tensor of the file.
std::vector<TensorSpec> TensorsOf(const SynthOptions& options);

// The same options write the same file, on every machine and with any number of threads: each
// weight is drawn from (seed, tensor name, index). Holds a few megabytes at a time.
Status WriteSyntheticModel(const SynthOptions& options, const std::string& path, ThreadPool& pool,
                           const ByteProgress& progress);

}  // namespace aster::model
