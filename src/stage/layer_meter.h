// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What layers of a model take here before any request has shown it: rates of other matrices do not
// know the model's weight types, norms and attention. Must not know plans.
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
#include "model/shape.h"
#include "stage/work_rates.h"

namespace aster::stage {

// Where a model is smaller, other rates are wrong by milliseconds.
inline constexpr uint64_t kLeastMeasuredBytes = uint64_t{64} << 20;

// The layers that are measured: the whole model where it is small, else layers from its middle of
// more bytes than caches hold; nothing where a layer is so large that loading it takes long.
std::optional<model::Slice> SliceToMeasure(const gguf::ModelFiles& files,
                                           const model::Shape& shape);

// Loads them, computes frames of some lengths on random rows, and frees them again: about a second.
// By the processor alone, on `threads` threads. As WorkRates::All has them; none where
// SliceToMeasure has none.
Result<std::vector<WorkRate>> MeasureLayers(const Hash128& fingerprint,
                                            const gguf::ModelFiles& files, size_t threads,
                                            const Clock& clock);

// Adds times of models of which frames told none, since then tokens take `token_factor` and frames
// of prompts `chunk_factor` times as long.
void AddMeasured(std::span<const WorkRate> measured, double token_factor, double chunk_factor,
                 std::vector<WorkRate>& rates);

}  // namespace aster::stage
