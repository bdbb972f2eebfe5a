// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Presets whose layers keep states: Qwen3-Next, Qwen3.5 and Qwen3.6. Must not know files.
#pragma once

#include <vector>

#include "model/synth/presets.h"

namespace aster::model {

std::vector<Preset> QwenNextPresets();

}  // namespace aster::model
