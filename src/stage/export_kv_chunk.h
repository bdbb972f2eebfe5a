// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows become the payload of a message, each copied once: the thread that computes does it. Must
// not know who wants them.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kv/layout.h"
#include "kv/page_table.h"
#include "wire/payload.h"

namespace aster::stage {

// kv::Export into a payload, in the place of what was there.
Status ExportKvChunk(const kv::PageTable& table, kv::LayerRange layers, uint32_t begin,
                     uint32_t end, wire::Payload& chunk);

}  // namespace aster::stage
