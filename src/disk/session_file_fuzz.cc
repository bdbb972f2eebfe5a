// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Bytes as a session's file. Checksums would reject most changes, so records with any bytes and
// right checksums are also made here.
#include "base/check.h"
#include "disk/session_file.h"

namespace aster::disk {
namespace {

void Read(Bytes bytes) {
  const InputFile file = InputFile::Of(bytes, "memory");
  const auto read = ReadSessionFile(file);
  if (!read.ok()) return;
  CHECK(read->session.tokens.size() * sizeof(int32_t) <= bytes.size());
  for (const SessionPage& page : read->session.pages) {
    CHECK(PageFileName::Parse(page.name.ToText()) == page.name);
    CHECK(page.offset == 0 || page.bytes <= bytes.size() - page.offset);
  }
}

// As the writer does: docs/sessions.md.
void AddRecord(uint32_t type, Bytes payload, ByteWriter& out) {
  ByteWriter about;
  about.Write(type);
  about.Write(static_cast<uint64_t>(out.size()));
  about.Write(static_cast<uint64_t>(payload.size()));
  out.Write(type);
  out.Write(uint32_t{0});
  out.Write(static_cast<uint64_t>(payload.size()));
  out.Write(Hash64Of(payload, Hash64Of(about.bytes())));
  out.WriteBytes(payload);
}

}  // namespace
}  // namespace aster::disk

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aster;  // tidy: allow(using-namespace) nothing else is in this file
  Bytes left(data, size);
  disk::Read(left);
  ByteWriter out;
  out.Write(disk::kSessionMagic);
  out.Write(disk::kSessionVersion);
  out.Write(uint32_t{0});
  // An about record of empty texts first, so that others can follow.
  disk::AddRecord(1, std::vector<uint8_t>(8 + 8 + 16 + 4 + 16 + 8 + 8 + 8), out);
  while (left.size() >= 2) {
    const uint32_t type = left[0] % 9;
    const size_t bytes = std::min<size_t>(left[1], left.size() - 2);
    disk::AddRecord(type, left.subspan(2, bytes), out);
    left = left.subspan(2 + bytes);
  }
  disk::Read(out.bytes());
  return 0;
}
