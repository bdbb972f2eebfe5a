// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The weights of an ensemble's members as a person gives them: numbers, or the files of results of
// their evaluations. Must not know what they weigh in.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace aster::cli {

// `members` are models as they were given; none of `values`: no weights.
Result<std::vector<double>> ReadMemberWeights(const std::vector<std::string>& values,
                                              const std::vector<std::string>& members);

}  // namespace aster::cli
