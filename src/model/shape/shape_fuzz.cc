// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any metadata of a model is either refused, or gives a model of a supported size, with valid
// tensors and a valid KV cache layout.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "gguf/file.h"
#include "kernels/rope.h"
#include "model/layers/rope_spec.h"
#include "model/memory/memory.h"
#include "model/shape/shape.h"
#include "model/shape/tensors.h"

namespace {

// No pair turns by more than one radian per position, so that angles stay where sines are exact.
void CheckAngles(const aster::model::Rope& rope) {
  constexpr uint32_t kMaxDimensions = 4096;  // more take longer and test nothing else
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
  CheckAngles(shape->rope);
  CheckAngles(shape->latent.rope);
  const auto layout =
      aster::model::MakeMemoryLayout(*shape, aster::model::Narrowed({}, *shape), {1, 2});
  if (!layout.ok()) CHECK(!layout.error().message().empty());
  return 0;
}
