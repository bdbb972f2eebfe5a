// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Shapes of DeepSeek V4 and V4.1.
#pragma once

#include <vector>

#include "model/synth/presets.h"

namespace aster::model {

std::vector<Preset> DeepSeek4Presets();

}  // namespace aster::model
