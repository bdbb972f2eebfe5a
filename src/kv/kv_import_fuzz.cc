// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Untrusted KV chunks, imported into a table with rows. As checksums would reject nearly all of
// them, the bytes determine the fields of a KV chunk, and the checksums are computed; or, if the
// first byte is odd, the bytes are the KV chunk itself.
#include <span>

#include "kv/chunk.h"
#include "kv/world_for_test.h"

namespace aster::kv {
namespace {

// The next value of the input; zero after its end.
template <typename T>
T Take(ByteReader& in) {
  Result<T> value = in.Read<T>();
  return value.ok() ? *value : T{0};
}

// Returns the right value in most cases, so that later checks are reached, too.
uint32_t TakeNear(ByteReader& in, uint32_t right) {
  const auto byte = Take<uint8_t>(in);
  if (byte < 128) return right;
  return byte < 250 ? byte % 64 : Take<uint32_t>(in);
}

KvChunkHeader TakeHeader(const PageTable& table, std::span<const int32_t> tokens, ByteReader& in) {
  KvChunkHeader header;
  header.digest = table.layout().digest();
  const auto flaw = Take<uint8_t>(in);
  if (flaw == 1) header.digest.low ^= 1;
  header.layers = {TakeNear(in, 0), TakeNear(in, table.layers().end)};
  header.begin = Take<uint8_t>(in) % 64;
  header.end = header.begin + Take<uint8_t>(in) % 64;
  header.version = flaw < 128 ? 2 : 1;
  header.reach = header.end - std::min<uint32_t>(header.end, flaw / 16 % 8);
  for (uint32_t i = header.begin; i < header.end; ++i) {
    header.tokens.push_back(i < tokens.size() ? tokens[i] : Take<uint8_t>(in) % 2);
  }
  if (flaw == 2) header.tokens.push_back(0);
  if (flaw == 3 && !header.tokens.empty()) header.tokens.front() ^= 1;
  header.prefix_at_begin =
      ExtendPrefixHash(header.digest, tokens.first(std::min<size_t>(header.begin, tokens.size())));
  if (flaw == 4) header.prefix_at_begin.low ^= 1;
  header.prefix_at_end = ExtendPrefixHash(header.prefix_at_begin, header.tokens);
  if (flaw == 5) header.prefix_at_end.low ^= 1;
  header.description = flaw == 6 ? "\n" : "fuzz";
  return header;
}

// The blocks of a right KV chunk, each perhaps changed.
std::vector<uint8_t> TakeKvChunk(const PageTable& table, std::span<const int32_t> tokens,
                                 ByteReader& in) {
  KvChunkHeader header = TakeHeader(table, tokens, in);
  const Layout& layout = table.layout();
  ByteWriter blocks;
  for (uint32_t index = header.begin / layout.page_positions();
       index * layout.page_positions() < header.end; ++index) {
    for (uint32_t layer = 0; layer < layout.layer_count(); ++layer) {
      if (layer < header.layers.begin || layer >= header.layers.end) continue;
      const std::span<const Stream> streams = layout.streams(layer);
      for (uint32_t s = 0; s < streams.size(); ++s) {
        const PageCodec& codec = *streams[s].codec;
        const uint32_t skipped =
            header.version == 1 ? 0 : streams[s].FirstRowNeeded(index, header.reach);
        const uint32_t begin =
            std::max(header.begin / streams[s].stride, index * codec.page_rows() + skipped);
        const uint32_t end =
            std::min(header.end / streams[s].stride, (index + 1) * codec.page_rows());
        if (begin >= end) continue;
        Block block = {.layer = TakeNear(in, layer),
                       .stream = TakeNear(in, s),
                       .first_row = TakeNear(in, begin),
                       .row_count = TakeNear(in, end - begin),
                       .row_bytes = TakeNear(in, static_cast<uint32_t>(codec.row_bytes())),
                       .rows = {}};
        const uint64_t bytes =
            std::min<uint64_t>(uint64_t{block.row_count} * block.row_bytes, 4096);
        const std::vector<uint8_t> rows(bytes, Take<uint8_t>(in));
        block.rows = rows;
        WriteBlockHead(block, header.prefix_at_end, blocks);
        blocks.WriteBytes(rows);
        ++header.block_count;
      }
    }
  }
  header.block_count = TakeNear(in, header.block_count);
  ByteWriter chunk;
  WriteHeader(header, chunk);
  chunk.WriteBytes(blocks.bytes());
  return {chunk.bytes().begin(), chunk.bytes().end()};
}

void Run(const Layout& layout, ByteReader& in) {
  Pool pool(40 * kPageAlignment);
  CheckedTable checked(layout, pool, layout.all_layers());
  const std::vector<int32_t> known(Take<uint8_t>(in) % 40, 1);
  if (!checked.Compute(layout.all_layers(), known)) return;
  for (int i = 0; i < 3; ++i) {
    PageTable& table = checked.table();
    const uint32_t before = table.length();
    const std::vector<int32_t> tokens(table.history().tokens().begin(),
                                      table.history().tokens().end());
    const std::vector<uint8_t> chunk = TakeKvChunk(table, tokens, in);
    const Status status = Import(table, chunk);
    CHECK(table.length() >= before && table.length() <= table.history().length());
    CHECK(table.history().CountEqual(0, tokens) == tokens.size());
    CHECK(status.ok() || !status.error().message().empty());
  }
  // After any chunk, the table can continue and go back.
  if (checked.table().Reserve(20).ok()) checked.table().Advance(std::vector<int32_t>(20, 3));
  checked.table().Truncate(Take<uint8_t>(in) % 64);
}

}  // namespace
}  // namespace aster::kv

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const aster::kv::Layout kLayouts[] = {aster::kv::PlainLayout(), aster::kv::WindowLayout(),
                                               aster::kv::CompressedLayout()};
  if (size == 0) return 0;
  const aster::kv::Layout& layout = kLayouts[data[0] / 2 % 3];
  aster::ByteReader in(aster::Bytes(data, size).subspan(1));
  if (data[0] % 2 == 0) {
    aster::kv::Run(layout, in);
    return 0;
  }
  // In two pieces, and as a whole.
  aster::kv::KvChunkStream stream;
  const auto ignore = [](const aster::kv::KvChunkHeader&, const aster::kv::Block&) {
    return aster::Ok();
  };
  const aster::Bytes bytes = aster::Bytes(data, size).subspan(1);
  if (stream.Take(bytes.first(bytes.size() / 2), ignore).ok() &&
      stream.Take(bytes.subspan(bytes.size() / 2), ignore).ok()) {
    static_cast<void>(stream.Finish());
  }
  if (const auto chunk = aster::kv::ParseKvChunk(bytes); chunk.ok()) {
    static_cast<void>(aster::kv::CutKvChunk(*chunk, aster::kv::LayerRange{0, 1}));
  }
  aster::kv::Pool pool(40 * aster::kv::kPageAlignment);
  aster::kv::PageTable table(layout, pool, layout.all_layers());
  const aster::Status status = aster::kv::Import(table, bytes);
  CHECK(status.ok() || !status.error().message().empty());
  return 0;
}
