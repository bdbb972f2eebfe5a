// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rates of nodes of which some were not measured. Must not know what they are rates of.
#pragma once

#include <optional>
#include <vector>

namespace aster::plan {

// The rates, with the median of the known ones in place of unknown ones; nothing if none is known:
// then all nodes count as alike.
std::optional<double> FillUnknown(std::vector<double>& rates);

}  // namespace aster::plan
