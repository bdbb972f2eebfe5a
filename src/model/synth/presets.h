// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Shapes of synthetic models by name, for tests and benchmarks that need a model of a certain size
// and no sense.
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

// An error lists the presets there are.
Result<Shape> ShapeOfPreset(std::string_view name);

}  // namespace aster::model
