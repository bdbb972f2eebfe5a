// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What no GPU computes: one rule for loading, counting memory and planning. Must not know which
// GPUs there are.
#pragma once

#include <string>

#include "model/memory.h"
#include "model/slice.h"

namespace aster::engine {

// Why the processor computes all layers of a slice, for people; empty where a GPU may compute some.
std::string WhyNoGpu(const model::Shape& shape, const model::Slice& slice,
                     const model::MemoryOptions& memory);

}  // namespace aster::engine
