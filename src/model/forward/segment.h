// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Input and output of a forward pass. Must not know how it is computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kv/page_table.h"

namespace aster::model {

// For which rows of a segment the head is computed.
enum class Wanted : uint8_t { kNone, kLast, kAll };

// The count for a segment of `rows` rows.
constexpr size_t CountOf(Wanted wanted, size_t rows) {
  if (wanted == Wanted::kNone) return 0;
  return wanted == Wanted::kLast ? 1 : rows;
}

// How a segment's rows are computed; the same for all segments of a batch.
enum class RowsAs : uint8_t {
  kText,   // each sees the rows before it and itself
  kBlock,  // each sees all rows before the segment, and all of the segment
  // The rows are given, [tokens, embedding], and are every layer's input. Layers only keep their
  // keys and values.
  kContext,
};

// The next tokens of one sequence.
struct Segment {
  kv::PageTable* table;             // of the slice's layers; the tokens follow those in the table
  std::span<const int32_t> tokens;  // at least one
  const float* hidden = nullptr;    // [tokens, hidden_width], for a slice without the embedding
  Wanted wanted = Wanted::kLast;    // for a slice with the head
  uint32_t draft_count = 0;         // of the tokens, at their end: they may be rejected
  Wanted states = Wanted::kNone;    // rows wanted as the head's input: after the last norm
  Wanted hidden_wanted = Wanted::kNone;  // rows of Output::hidden; without the head: all
  Wanted tapped_wanted = Wanted::kNone;  // rows of Output::tapped
  RowsAs rows_as = RowsAs::kText;
};

// Rows of all segments, one after the other.
struct Output {
  std::span<const float> hidden;  // [wanted hidden rows, hidden_width], after the last layer
  std::span<const float> logits;  // [wanted rows, vocab_size], of a slice with the head
  std::span<const float> states;  // [wanted states, embedding], of a slice with the head
  std::span<const float> tapped;  // [wanted tapped rows, taps * embedding], after tapped layers
};

// How far a forward pass has come.
enum class Progress : uint8_t {
  kWaiting,  // for a device or another machine; the thread may compute something else
  kDone,
};

}  // namespace aster::model
