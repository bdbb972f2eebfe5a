// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Checks that the tile registers of this machine compute what our kernels expect, as emulators and
// hypervisors may be wrong. Plain declarations.
#pragma once

namespace aster::kernels {

// Only if AMX is available (isa_choice.h), and in the compute float mode. Takes microseconds.
bool AmxComputesAsDescribed();

}  // namespace aster::kernels
