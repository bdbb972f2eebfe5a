// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A history of tokens and its KV cache, on this machine or elsewhere. Tokens at the end of the
// history that are not computed yet are pending, and the runner of the sequence computes them. Must
// not know why tokens are there.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/local_model.h"
#include "kv/page_table.h"

namespace aster::engine {

// A generator's KV cache of a history's first tokens.
class SequenceMemory {
 public:
  virtual ~SequenceMemory() = default;

  // The number of tokens, from the first, with KV rows.
  virtual uint32_t length() const = 0;
  // Frees the rows from `length` on; length() may become less than that.
  virtual void Truncate(uint32_t length) = 0;
  // Adopts cached rows of other sequences that begin with `tokens`.
  virtual void Adopt(std::span<const int32_t> tokens) = 0;
  virtual std::unique_ptr<SequenceMemory> Fork() const = 0;
};

// Belongs to the thread that computes, like its model, which outlives it.
class Sequence {
 public:
  // For a model on this machine.
  explicit Sequence(LocalModel& model);
  // For a model on other machines (conduct::Conductor).
  explicit Sequence(std::unique_ptr<SequenceMemory> memory);
  Sequence(Sequence&&) noexcept = default;
  Sequence& operator=(Sequence&&) noexcept = default;

  const std::vector<int32_t>& tokens() const { return tokens_; }
  uint32_t length() const { return static_cast<uint32_t>(tokens_.size()); }
  // How many tokens, from the first, have KV rows.
  uint32_t computed() const { return memory_->length(); }
  std::span<const int32_t> pending() const { return std::span(tokens_).subspan(computed()); }

  // Sets the history. Keeps rows of the common beginning, frees the rest, and adopts cached pages
  // of other sequences from memory. (Pages on disk are adopted when the sequence is run.)
  void SetHistory(std::span<const int32_t> tokens);
  void Append(int32_t token) { tokens_.push_back(token); }
  void Append(std::span<const int32_t> tokens) {
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  }
  // Removes the tokens from `length` on. Rows that had left a window and are needed again become
  // pending; they are computed again with the same bits.
  void Rewind(uint32_t length);

  // Adopts pages of other sequences that continue the computed rows along the history; leaves the
  // last token pending.
  void Adopt(kv::AdoptFrom from = kv::AdoptFrom::kStoreToo);
  // Makes at least the last token pending, so that computing gives logits.
  void ForgetLast();
  // Frees the memory; all tokens become pending.
  void Release();

  // Removes rows after the history's first `length` tokens (of rejected drafts, say).
  void RemoveRowsAfter(uint32_t length) {
    if (computed() > length) memory_->Truncate(length);
  }

  // A second sequence with the same history, which shares its memory.
  Sequence Fork() const;

  SequenceMemory& memory() { return *memory_; }

  // Whether it is for a model on this machine; only then model() and table() may be called.
  bool is_local() const { return local_ != nullptr; }
  LocalModel& model() const;
  // For computing. Its length is computed(); its tokens are the history's beginning.
  kv::PageTable& table();
  const kv::PageTable& table() const;

 private:
  class TableMemory;

  Sequence(std::vector<int32_t> tokens, std::unique_ptr<SequenceMemory> memory, TableMemory* local);
  explicit Sequence(std::unique_ptr<TableMemory> memory);

  std::vector<int32_t> tokens_;
  std::unique_ptr<SequenceMemory> memory_;
  TableMemory* local_;  // memory_, if that is a table
};

}  // namespace aster::engine
