// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Presets of MiMo 2. Must not know files.
#pragma once

#include <vector>

#include "model/synth/presets.h"

namespace aster::model {

std::vector<Preset> Mimo2Presets();

}  // namespace aster::model
