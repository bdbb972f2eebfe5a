// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// N-grams whose classes are in pages on a device: the host reads those before a batch's tokens,
// waiting for earlier work, and hashes. Must not know the table.
#pragma once

#include "base/result.h"
#include "compute/commands.h"
#include "compute/context.h"
#include "vulkan/backend/pages.h"

namespace aster::vulkan {

Status HashNgrams(DevicePages& pages, compute::Context& host, const compute::NgramHash& hash);

}  // namespace aster::vulkan
