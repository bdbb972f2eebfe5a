// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Shapes of Gemma 2 and 4, by name. Must not know weights.
#pragma once

#include <vector>

#include "model/synth/presets.h"

namespace aster::model {

std::vector<Preset> GemmaPresets();

}  // namespace aster::model
