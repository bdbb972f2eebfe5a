// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Shapes of synthetic models by name, for tests and benchmarks that need a model of a certain size
// and no meaningful answers.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "model/shape/shape.h"

namespace aster::model {

struct Preset {
  std::string_view name;
  std::string_view summary;
  Shape shape;
};

std::span<const Preset> Presets();

// The shape of a preset. An error lists all presets.
Result<Shape> ShapeOfPreset(std::string_view name);

}  // namespace aster::model
