// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A reader agrees with the bytes themselves, in any order of calls: it never leaves its buffer, and
// an error does not move it.

#include "base/bytes.h"
#include "base/check.h"

namespace aster {
namespace {

// Reads every byte, so that a sanitizer detects a range that is too long.
void Touch(Bytes bytes) {
  uint8_t sum = 0;
  for (uint8_t byte : bytes) sum = static_cast<uint8_t>(sum + byte);
  volatile uint8_t sink = sum;
  (void)sink;
}

bool Step(ByteReader& reader, uint8_t operation) {
  const size_t before = reader.offset();
  const size_t left = reader.left();
  const auto checked = [&](bool done, uint64_t size) {
    CHECK(reader.offset() == (done ? before + size : before));
    CHECK(!done || size <= left);
    return done;
  };
  switch (operation % 5) {
    case 0:
      return checked(reader.Read<uint16_t>().ok(), 2);
    case 1: {
      const Result<uint64_t> size = reader.Read<uint64_t>();
      if (!size.ok()) return false;
      const size_t here = reader.offset();
      const Result<Bytes> bytes = reader.ReadBytes(*size);
      if (!bytes.ok()) return reader.offset() == here;
      Touch(*bytes);
      return true;
    }
    case 2: {
      const Result<uint32_t> count = reader.ReadCount<uint32_t>(operation / 5 + 1);
      if (count.ok()) CHECK(uint64_t{*count} * (operation / 5 + 1) <= reader.left());
      return count.ok();
    }
    case 3:
      return checked(reader.Skip(operation).ok(), operation);
    default:
      return checked(reader.Read<double>().ok(), sizeof(double));
  }
}

}  // namespace
}  // namespace aster

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aster::ByteReader reader({data, size});
  while (!reader.at_end()) {
    const aster::Result<uint8_t> operation = reader.Read<uint8_t>();
    if (!operation.ok() || !aster::Step(reader, *operation)) break;
  }
  return 0;
}
