// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Measures rates of any generator from outside, for models on several machines, whose limits are
// not known. measure.h measures a model on this machine more precisely.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "engine/generator.h"
#include "engine/measure.h"

namespace aster::engine {

// Ignores the plan's threads and chunk; `threads` is only reported.
Result<std::vector<Measurement>> MeasureGenerator(Generator& generator, const MeasurePlan& plan,
                                                  size_t threads, const MeasureProgress& progress);

}  // namespace aster::engine
