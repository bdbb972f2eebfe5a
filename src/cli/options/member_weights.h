// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The weights of an ensemble's members as a user gives them: numbers, or the files of results of
// their evaluations. Must not know how they are used.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace aster::cli {

// `members`: models as they were given. Empty `values`: no weights.
Result<std::vector<double>> ReadMemberWeights(const std::vector<std::string>& values,
                                              const std::vector<std::string>& members);

}  // namespace aster::cli
