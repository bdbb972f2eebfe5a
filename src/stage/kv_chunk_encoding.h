// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// KV chunks (kv/chunk.h) compressed for their way between nodes: a row of 16-bit numbers becomes
// bytes, and an f16 scale for every 32 of them, by the rule of the kernels (OpsTable::to_q8), so
// that every machine computes the same bytes. Rows of other formats travel as they are.
// Decompressed rows are close to the original ones, not equal. Must not know who sends chunks to
// whom, nor what is done with them.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "kernels/isa.h"
#include "kv/chunk.h"
#include "kv/layout.h"
#include "wire/messages.h"
#include "wire/payload.h"

namespace aster::stage {

// "exact" or "q8".
Result<wire::RowEncoding> ParseKvChunkEncoding(std::string_view name);

// Whether the encoding changes rows of the layout: it has streams of 16-bit numbers.
bool ChangesRows(wire::RowEncoding encoding, const kv::Layout& layout);

// The bytes of a row of the stream in this encoding.
size_t EncodedRowBytes(wire::RowEncoding encoding, const kv::Stream& stream);

// The bytes of the chunk with its rows compressed. The header stays as it is; the blocks' checksums
// are of their new rows.
Result<wire::Payload> CompressKvChunk(const kv::Layout& layout, kernels::Isa isa,
                                      const kv::KvChunk& chunk);

// The bytes of the decompressed chunk. The compressed one comes from another node: an error if it
// is damaged, of another layout, or has rows of the wrong size.
Result<wire::Payload> DecompressKvChunk(const kv::Layout& layout, kernels::Isa isa,
                                        const kv::KvChunk& chunk);

}  // namespace aster::stage
