// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The reader refuses any bytes, or everything that it returns lies within them, does not overlap,
// and adds up.

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "gguf/file.h"
#include "gguf/touch_for_test.h"

namespace aster::gguf {
namespace {

void CheckTensors(const File& file, Bytes bytes) {
  std::vector<std::pair<const uint8_t*, const uint8_t*>> places;
  for (const Tensor& tensor : file.tensors()) {
    CHECK(tensor.offset <= bytes.size() && tensor.offset >= file.data_offset());
    if (!tensor.size_known) {
      CHECK(tensor.data.empty());
      continue;
    }
    CHECK(tensor.offset % file.alignment() == 0);
    CHECK(tensor.data.size() == TensorBytes(tensor.type, tensor.shape()).value());
    CHECK(tensor.data.data() == bytes.data() + tensor.offset);
    places.emplace_back(tensor.data.data(), tensor.data.data() + tensor.data.size());
  }
  std::ranges::sort(places);
  for (size_t i = 1; i < places.size(); ++i) CHECK(places[i - 1].second <= places[i].first);
  CHECK(places.empty() || places.back().second <= bytes.data() + bytes.size());
}

}  // namespace
}  // namespace aster::gguf

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const aster::Bytes bytes(data, size);
  const auto file = aster::gguf::File::Parse(bytes);
  if (!file.ok()) {
    CHECK(!file.error().message().empty());
    return 0;
  }
  aster::gguf::CheckTensors(*file, bytes);
  aster::gguf::TouchEverything(*file);
  return 0;
}
