// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/logits.h"

#include <algorithm>

namespace aster::engine {

Status ComputeLogits(LocalModel& model, kv::PageTable& table, std::span<const int32_t> tokens,
                     size_t chunk, LogitsSink sink) {
  const size_t vocab_size = model.shape().vocab_size;
  for (size_t done = 0; done < tokens.size(); done += chunk) {
    const model::Segment segment{
        .table = &table,
        .tokens = tokens.subspan(done, std::min(chunk, tokens.size() - done)),
        .hidden = nullptr,
        .wanted = model::Wanted::kAll};
    const model::Output output = TRY(model.Run({&segment, 1}));
    for (size_t row = 0; row < segment.tokens.size(); ++row) {
      TRY(sink(output.logits.subspan(row * vocab_size, vocab_size)));
    }
  }
  return Ok();
}

}  // namespace aster::engine
