// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which of the loops of limits.h this machine can run. Must not know how they are timed.
#pragma once

#include <span>

#include "kernels/limits.h"

namespace aster::kernels {

// Those with available instructions, the plain ones first, the widest dot product last. On machines
// with tile registers, the first call asks the system for them.
std::span<const LimitLoops* const> AvailableLimits();

}  // namespace aster::kernels
