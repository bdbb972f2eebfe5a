// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The logits of texts that are there already.

#include <algorithm>

#include "conduct/conductor.h"
#include "kernels/rope.h"

namespace aster::conduct {
namespace {

// Of the logits that a frame brings back.
constexpr uint64_t kMaxLogitsBytes = uint64_t{16} << 20;

}  // namespace

// Computes what is new of the sequence, and nothing behind it.
Status Conductor::Read(engine::Sequence& sequence, WantedLogits logits) {
  Status status = FailedPrecondition("the text was not computed");
  TRY(SubmitWith({.sequence = &sequence,
                  .max_tokens = 0,
                  .context_limit = kernels::kRopePositions,
                  .on_finish = [&](const engine::Finish& finish) { status = finish.status; }},
                 logits));
  while (!idle()) TRY(Step());
  return status;
}

Status Conductor::LogitsOf(std::span<const int32_t> tokens, size_t chunk, engine::LogitsSink sink) {
  engine::Sequence sequence = NewSequence();
  const uint64_t row_bytes = uint64_t{model_.shape.vocab_size} * sizeof(float);
  const uint64_t rows =
      std::clamp<uint64_t>(kMaxLogitsBytes / row_bytes, 1, std::max(chunk, size_t{1}));
  WantedLogits logits{.sink = &sink, .chunk = static_cast<uint32_t>(rows), .begin = 0};
  // Rows that change on their way are of no consequence to those who read: behind the middle the
  // logits are of those who answer, who have got the first half's rows from them.
  const bool shows_rows =
      options_.route.kv_encoding != wire::RowEncoding::kF32 && !plan_.decode.empty();
  if (const size_t middle = tokens.size() / 2; shows_rows && middle > 0) {
    sequence.SetHistory(tokens.first(middle));
    TRY(Read(sequence, logits));
    TRY(Read(sequence, {}));
    logits.begin = static_cast<uint32_t>(middle);
  }
  sequence.Append(tokens.subspan(sequence.length()));
  return Read(sequence, logits);
}

}  // namespace aster::conduct
