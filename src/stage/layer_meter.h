// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Measures how long layers of a model take here before its first request. Unlike the rates of test
// matrices, this includes the model's weight types, norms and attention. Must not know plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/result.h"
#include "gguf/model_files.h"
#include "model/shape/shape.h"
#include "stage/work_rates.h"

namespace aster::stage {

// Smaller models are not measured: estimates from test matrices are wrong by milliseconds only.
inline constexpr uint64_t kLeastMeasuredBytes = uint64_t{64} << 20;

// The layers to measure: the whole model if it is small, else as many layers from its middle as
// exceed the caches; nothing if a layer is so large that loading it takes long.
std::optional<model::Slice> SliceToMeasure(const gguf::ModelFiles& files,
                                           const model::Shape& shape);

// Loads the layers of SliceToMeasure, computes frames of some lengths on random rows with the
// processor alone, on `threads` threads, and frees them again: about a second. Returns rates in the
// form of WorkRates::All; none if there are no layers to measure.
Result<std::vector<WorkRate>> MeasureLayers(const Hash128& fingerprint,
                                            const gguf::ModelFiles& files, size_t threads,
                                            const Clock& clock);

// Adds measured times of models that have no times from frames, scaled for what has changed since
// the measurement: tokens take `token_factor` times as long now, frames of prompts `chunk_factor`.
void AddMeasured(std::span<const WorkRate> measured, double token_factor, double chunk_factor,
                 std::vector<WorkRate>& rates);

}  // namespace aster::stage
