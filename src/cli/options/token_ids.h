// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Token ids in a user's file. Must not know which model they are of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace aster::cli {

// Whole numbers with white space or commas between.
Result<std::vector<int32_t>> ReadIds(const std::string& path);

}  // namespace aster::cli
