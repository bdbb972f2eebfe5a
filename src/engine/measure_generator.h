// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rates of any generator as its caller sees them, for models on several machines, whose limits are
// not known. A model on this machine is measured closer (measure.h).
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "engine/generator.h"
#include "engine/measure.h"

namespace aster::engine {

// The plan's threads and chunk mean nothing here; `threads` is only what is reported.
Result<std::vector<Measurement>> MeasureGenerator(Generator& generator, const MeasurePlan& plan,
                                                  size_t threads, const MeasureProgress& progress);

}  // namespace aster::engine
