// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Presets whose heads share one row (MLA): DeepSeek V2 to V3.2, Kimi K2, GLM 4.7 Flash and GLM 5.
// Must not know files.
#pragma once

#include <vector>

#include "model/synth/presets.h"

namespace aster::model {

std::vector<Preset> MlaPresets();

}  // namespace aster::model
