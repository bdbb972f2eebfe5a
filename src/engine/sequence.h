// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A history of tokens and what the model remembers of it. The history may run ahead: tokens that
// are not computed yet are pending, and whoever runs the sequence computes them. Must not know why
// tokens are there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/local_model.h"
#include "kv/page_table.h"

namespace aster::engine {

// Belongs to the thread that computes, like its model, which outlives it.
class Sequence {
 public:
  explicit Sequence(LocalModel& model);
  Sequence(Sequence&&) noexcept = default;
  Sequence& operator=(Sequence&&) noexcept = default;

  LocalModel& model() const { return *model_; }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  uint32_t length() const { return static_cast<uint32_t>(tokens_.size()); }
  // How many tokens, from the first, are in memory.
  uint32_t computed() const { return table_.length(); }
  std::span<const int32_t> pending() const { return std::span(tokens_).subspan(computed()); }

  // Makes this the history. Keeps what is shared from the start, forgets the rest, and takes over
  // what the model remembers of other sequences that began alike.
  void SetHistory(std::span<const int32_t> tokens);
  void Append(int32_t token) { tokens_.push_back(token); }
  void Append(std::span<const int32_t> tokens) {
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  }
  // Forgets the tokens from `length` on. What had slid out of a window and is needed again becomes
  // pending: computed again, it is the same bits.
  void Rewind(uint32_t length);

  // Takes over pages of other sequences that continue what is computed along the history; leaves
  // the last token pending.
  void Adopt();
  // Makes at least the last token pending, so that computing gives logits.
  void ForgetLast();
  // Gives up the memory; all tokens become pending.
  void Release();

  // A second sequence with the same past, which shares its memory.
  Sequence Fork() const;

  // To compute with. Its length is computed(); its tokens are the history's beginning.
  kv::PageTable& table() { return table_; }
  const kv::PageTable& table() const { return table_; }

 private:
  Sequence(LocalModel& model, std::vector<int32_t> tokens, kv::PageTable table);

  LocalModel* model_;
  std::vector<int32_t> tokens_;
  kv::PageTable table_;
};

}  // namespace aster::engine
