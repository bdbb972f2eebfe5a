// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How a template is rendered, and what it may use up. Must not know how rendering works.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace aster::jinja {

// Past any of these, rendering ends with kResourceExhausted.
struct RenderLimits {
  size_t max_output_bytes = size_t{64} << 20;
  // Held by the template's values at once. (While an operation runs, its result may come on top.)
  size_t max_memory_bytes = size_t{256} << 20;
  // Evaluated expressions and statements, and 64-byte pieces of text looked at.
  uint64_t max_steps = 50'000'000;
  // Statements, expressions and macro calls within each other.
  uint32_t max_depth = 1000;
};

struct RenderOptions {
  // What strftime_now() shows, in local time; the system's clock where absent.
  std::optional<int64_t> now_unix_s;
  // Whether templates may change lists and dicts with append(), update() and the like. The Python
  // original refuses most of these, yet templates in the field use them.
  bool allow_mutation = true;
  RenderLimits limits;
};

}  // namespace aster::jinja
