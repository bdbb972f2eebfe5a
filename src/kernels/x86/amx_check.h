// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether the tile registers of this machine do what our kernels were written for: emulators and
// hypervisors have been wrong about less. Plain declarations.
#pragma once

namespace aster::kernels {

// Only where AMX is available (isa_choice.h), and in the compute float mode. Takes microseconds.
bool AmxComputesAsDescribed();

}  // namespace aster::kernels
