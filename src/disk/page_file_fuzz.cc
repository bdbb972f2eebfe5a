// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Bytes as a page file: unchanged, and, to get past the checksums, a file that was written here
// with some bytes changed and its header's checksum corrected.
#include "base/check.h"
#include "disk/page_file.h"
#include "kv/prefix_hash.h"

namespace aster::disk {
namespace {

void Read(Bytes bytes, const PageFileName& name) {
  const InputFile file = InputFile::Of(bytes, "memory");
  auto open = PageFile::OpenWithin(file, 0, bytes.size(), name);
  if (!open.ok()) return;
  CHECK(NameOf(open->header()) == name);
  uint64_t rows_bytes = 0;
  static_cast<void>(open->Read([](uint32_t, uint32_t stream) { return stream % 2 == 0; },
                               [&](const kv::Block& block) {
                                 rows_bytes += block.rows.size();
                                 return Ok();
                               }));
  CHECK(rows_bytes <= bytes.size());
}

}  // namespace
}  // namespace aster::disk

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aster;  // tidy: allow(using-namespace) nothing else is in this file
  const Bytes bytes(data, size);
  // The bytes are read under the name that their header implies.
  ByteReader in(bytes);
  if (const auto header = kv::ReadHeader(in); header.ok()) {
    disk::Read(bytes, disk::NameOf(*header));
  }
  if (size < 8) return 0;
  kv::KvChunkHeader header;
  header.digest = {.low = 1};
  header.layers = {0, 2};
  header.end = 4;
  header.tokens = {1, 2, 3, 4};
  header.prefix_at_begin = header.digest;
  header.prefix_at_end = kv::ExtendPrefixHash(header.digest, header.tokens);
  const std::vector<uint8_t> rows(24, 5);
  const kv::Block blocks[] = {
      {.layer = 0, .stream = 0, .first_row = 0, .row_count = 4, .row_bytes = 6, .rows = rows},
      {.layer = 1, .stream = 1, .first_row = 0, .row_count = 2, .row_bytes = 12, .rows = rows}};
  std::vector<uint8_t> file = disk::MakePageFile(header, blocks);
  // Three bytes are changed, each with an offset and a value.
  for (size_t i = 0; i + 1 < 6; i += 2) file[data[i] % file.size()] ^= data[i + 1];
  file.resize(file.size() - data[6] % 8 % file.size());
  file.insert(file.end(), data + 8, data + std::min<size_t>(size, 40));
  disk::Read(file, disk::NameOf(header));
  return 0;
}
