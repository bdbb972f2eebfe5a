// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whatever a file's metadata says of a model: it is refused, or it is a model of a size that can be
// dealt with, whose tensors have sensible shapes and whose memory can be laid out.

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "gguf/file.h"
#include "model/memory.h"
#include "model/shape.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = aster::gguf::File::Parse({data, size});
  if (!file.ok()) return 0;
  const auto shape = aster::model::ReadShape(file->metadata());
  if (!shape.ok()) {
    CHECK(!shape.error().message().empty());
    return 0;
  }
  CHECK(aster::model::CheckShape(*shape).ok());
  CHECK(!aster::model::TensorsOf(*shape).empty());
  const auto layout =
      aster::model::MakeMemoryLayout(*shape, aster::model::Narrowed({}, *shape), {1, 2});
  if (!layout.ok()) CHECK(!layout.error().message().empty());
  return 0;
}
