// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A way to verify: the parts of a group in one process, each on its own back ends. Must not know
// which there are.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/hash.h"
#include "base/result.h"
#include "engine/local_model.h"

namespace aster::engine {

// The hash of the logits of all tokens, computed by the parts together.
Result<Hash128> InGroup(std::span<const std::unique_ptr<LocalModel>> parts,
                        std::span<const int32_t> tokens, size_t chunk);

}  // namespace aster::engine
