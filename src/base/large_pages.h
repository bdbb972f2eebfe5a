// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Memory from the system in large pages, so that the processor can map gigabytes with few entries:
// otherwise a third of the time of scattered reads goes into address translation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aster {

inline constexpr size_t kLargePageBytes = size_t{2} << 20;  // on x86 and ARM

// `bytes` (not zero) of zeros that take no memory until they are touched; release them with munmap.
// From a large page on they begin at a multiple of one, and are in large pages if the system has
// them. `reserved`: the system must fail now if it could not back all of them. Null if it fails;
// errno has the reason.
uint8_t* MapLargePages(size_t bytes, bool reserved);

}  // namespace aster
