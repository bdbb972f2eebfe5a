// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What goes into a forward pass and what comes out of it. Must not know how it is computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kv/page_table.h"

namespace aster::model {

// Which rows of a segment the head is asked about.
enum class Wanted : uint8_t { kNone, kLast, kAll };

// Of a segment of `rows` rows.
constexpr size_t CountOf(Wanted wanted, size_t rows) {
  if (wanted == Wanted::kNone) return 0;
  return wanted == Wanted::kLast ? 1 : rows;
}

// What is computed of a segment's rows, the same for all segments of a batch.
enum class RowsAs : uint8_t {
  kText,   // each sees those before it and itself
  kBlock,  // each sees those before the segment, and all of the segment
  // They are given, [tokens, embedding], and every layer's input: it keeps their keys and values,
  // and no more.
  kContext,
};

// The next tokens of one sequence.
struct Segment {
  kv::PageTable* table;             // of the slice's layers; the tokens follow what it holds
  std::span<const int32_t> tokens;  // at least one
  const float* hidden = nullptr;    // [tokens, hidden_width], for a slice without the embedding
  Wanted wanted = Wanted::kLast;    // for a slice with the head
  uint32_t draft_count = 0;         // of the tokens, at their end: they may be rejected
  Wanted states = Wanted::kNone;    // rows wanted as the head sees them: behind the last norm
  Wanted hidden_wanted = Wanted::kNone;  // rows of Output::hidden; without the head they are all
  Wanted tapped_wanted = Wanted::kNone;  // rows of Output::tapped
  RowsAs rows_as = RowsAs::kText;
};

// Rows of all segments, one after the other.
struct Output {
  std::span<const float> hidden;  // [wanted hidden rows, hidden_width], behind the last layer
  std::span<const float> logits;  // [wanted rows, vocab_size], of a slice with the head
  std::span<const float> states;  // [wanted states, embedding], of a slice with the head
  std::span<const float> tapped;  // [wanted tapped rows, taps * embedding], behind layers
};

// How far a forward pass has come.
enum class Progress : uint8_t {
  kWaiting,  // for a device or a machine: its thread may compute something else meanwhile
  kDone,
};

}  // namespace aster::model
