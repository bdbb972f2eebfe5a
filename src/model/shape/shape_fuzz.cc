// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whatever a file's metadata says of a model: it is refused, or it is a model of a size that can be
// dealt with, whose tensors have sensible shapes and whose memory can be laid out.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "gguf/file.h"
#include "kernels/rope.h"
#include "model/layers/rope_spec.h"
#include "model/memory/memory.h"
#include "model/shape/shape.h"

namespace {

// No pair turns by more than a whole position at once, so that angles stay where sines are known.
void CheckTurns(const aster::model::Rope& rope) {
  constexpr uint32_t kMaxDimensions = 4096;  // more take longer, and say no more
  if (rope.dimensions == 0 || rope.dimensions > kMaxDimensions) return;
  std::vector<double> frequencies(rope.dimensions / 2);
  aster::kernels::RopeFrequencies(aster::model::RopeSpecOf(rope), nullptr, frequencies.data());
  for (const double frequency : frequencies) CHECK(frequency >= 0.0 && frequency < 1.0001);
}

}  // namespace

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
  CheckTurns(shape->rope);
  CheckTurns(shape->latent.rope);
  const auto layout =
      aster::model::MakeMemoryLayout(*shape, aster::model::Narrowed({}, *shape), {1, 2});
  if (!layout.ok()) CHECK(!layout.error().message().empty());
  return 0;
}
