// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Secrets: unpredictable bytes, and a comparison in constant time. Must not know what they protect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace aster::crypto {

// The time does not depend on where they differ.
bool EqualSecrets(Bytes a, Bytes b);

Result<std::vector<uint8_t>> RandomSecret(size_t size);

}  // namespace aster::crypto
