// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A range of a route's stages that compute one after the other. Must not know which nodes they are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aster::conduct {

// Half-open, as the route numbers its stages.
struct Path {
  uint32_t begin = 0;
  uint32_t end = 0;

  size_t size() const { return end - begin; }
  bool operator==(const Path&) const = default;
};

}  // namespace aster::conduct
