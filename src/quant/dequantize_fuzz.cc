// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any bytes are blocks: the first byte chooses the type, and all whole blocks in the rest are
// decoded.
#include <vector>

#include "base/check.h"
#include "quant/dequantize.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto types = aster::gguf::KnownTensorTypes();
  const aster::gguf::TensorTypeInfo& info = types[data[0] % types.size()];
  const aster::Bytes bytes = aster::Bytes(data, size).subspan(1);
  const size_t block_count = bytes.size() / info.block_bytes;
  // An exact copy, so that the sanitizer sees a read past the end.
  const std::vector<uint8_t> blocks(bytes.begin(), bytes.begin() + block_count * info.block_bytes);
  std::vector<float> values(block_count * info.block_elements);
  const aster::Status status = aster::quant::Dequantize(info.type, blocks, values);
  CHECK(status.ok() == (aster::quant::FindDecoder(info.type) != nullptr));
  return 0;
}
