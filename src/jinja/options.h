// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How a template is rendered, and its resource limits. Must not know how rendering works.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace aster::jinja {

// Above any of these, rendering ends with kResourceExhausted.
struct RenderLimits {
  size_t max_output_bytes = size_t{64} << 20;
  // All values of the template together. (During an operation, its result may be added.)
  size_t max_memory_bytes = size_t{256} << 20;
  // Evaluated expressions and statements, and 64-byte pieces of text that are read.
  uint64_t max_steps = 50'000'000;
  // Nested statements, expressions and macro calls.
  uint32_t max_depth = 1000;
};

struct RenderOptions {
  // The time for strftime_now(), in local time; absent: the system's clock.
  std::optional<int64_t> now_unix_s;
  // Whether templates may change lists and dicts with append(), update() and the like. The Python
  // original refuses most of these, but published templates use them.
  bool allow_mutation = true;
  RenderLimits limits;
};

}  // namespace aster::jinja
