// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// KV rows become the payload of a message, each copied once, on the thread that computes. Must not
// know where they go.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kv/layout.h"
#include "kv/page_table.h"
#include "wire/payload.h"

namespace aster::stage {

// kv::Export into a payload, whose earlier content it replaces.
Status ExportKvChunk(const kv::PageTable& table, kv::LayerRange layers, uint32_t begin,
                     uint32_t end, wire::Payload& chunk);

}  // namespace aster::stage
