// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Memory straight from the system, in pages large enough that the processor can map gigabytes with
// few entries: a third of the time to read far-flung memory is looking up addresses otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aster {

inline constexpr size_t kLargePageBytes = size_t{2} << 20;  // on x86 and ARM

// `bytes` (not zero) of zeros that take no memory until they are touched, to be given back with
// munmap. From a large page on they begin at a multiple of one, and lie in large pages where the
// system has them. `reserved`: the system is to say no now where it could not back all of them.
// Null where it says so; errno has the reason.
uint8_t* MapLargePages(size_t bytes, bool reserved);

}  // namespace aster
