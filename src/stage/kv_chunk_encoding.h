// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// KV chunks of what sequences remember (kv/chunk.h), made smaller on their way between nodes: a row
// of 16-bit numbers becomes bytes, and an f16 scale for every 32 of them, by the rule of the
// kernels (OpsTable::to_q8), so that every machine makes the same of it. All other rows travel as
// they are. What comes out is close to what went in, and not the same. Must not know who sends what
// to whom, nor what is done with it.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "kernels/isa.h"
#include "kv/layout.h"
#include "wire/messages.h"
#include "wire/payload.h"

namespace aster::stage {

// "exact" or "q8".
Result<wire::RowEncoding> ParseKvChunkEncoding(std::string_view name);

// Whether rows of the layout become others on their way: it has streams of 16-bit numbers.
bool ChangesRows(wire::RowEncoding encoding, const kv::Layout& layout);

// Of a row of the stream, on its way.
size_t EncodedRowBytes(wire::RowEncoding encoding, const kv::Stream& stream);

// A KV chunk of the layout with its rows as bytes. The header stays as it is; blocks have checksums
// of what they hold now.
Result<wire::Payload> CompressKvChunk(const kv::Layout& layout, kernels::Isa isa, Bytes chunk);

// The KV chunk whose rows are those of a smaller one, which nobody vouches for. An error where it
// is damaged, of another layout, or its rows have not the size that they would have.
Result<wire::Payload> DecompressKvChunk(const kv::Layout& layout, kernels::Isa isa, Bytes chunk);

}  // namespace aster::stage
