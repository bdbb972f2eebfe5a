// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Fills in unknown rates of nodes. Must not know what they are rates of.
#pragma once

#include <optional>
#include <vector>

namespace aster::plan {

// Replaces unknown rates by the median of the known ones, which it returns; nullopt if none is
// known: then all nodes count as equal.
std::optional<double> FillUnknown(std::vector<double>& rates);

}  // namespace aster::plan
