// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A drafter by n-gram lookup in the text itself (prompt lookup): proposes the tokens that followed
// the latest earlier occurrence of its last few tokens. Takes negligible time. Must not know models
// or text.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace aster::draft {

struct NgramOptions {
  uint32_t shortest = 2;    // tokens that must match
  uint32_t longest = 4;     // tokens that may match; the longest match counts
  uint32_t max_tokens = 8;  // of a draft
};

// Appending, removing or drafting a token takes a few table look-ups, for any length of the history
// (amortised: the tables grow by doubling). Not for concurrent use.
class NgramProposer {
 public:
  static constexpr uint32_t kLongest = 8;  // limit of NgramOptions::longest

  // 1 <= shortest <= longest <= kLongest.
  explicit NgramProposer(NgramOptions options = {});

  void Append(int32_t token);
  void Append(std::span<const int32_t> tokens);
  // Forgets the tokens from `length` on.
  void Rewind(size_t length);
  std::span<const int32_t> history() const { return history_; }

  // A draft: the tokens that followed the latest earlier occurrence of the history's last tokens,
  // for the longest match; empty without one. A draft that reaches the history's end continues with
  // its own tokens, so that repetition is drafted in full. Valid until the next call.
  std::span<const int32_t> Propose();

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // For each sequence of `size` tokens, the latest place where it ended, before the history's end.
  // Open addressing; the slot of a removed sequence keeps its key, with kNone.
  class Table {
   public:
    explicit Table(uint32_t size) : size_(size) {}

    // The history has a new last token.
    void Append(std::span<const int32_t> history);
    // Removes the history's last token; call before the history does.
    void Pop(std::span<const int32_t> history);
    // Where the last tokens of the history's first `length` ended before, or kNone.
    uint32_t earlier(size_t length) const { return length == 0 ? kNone : earlier_[length - 1]; }

   private:
    struct Slot {
      uint64_t key = 0;  // 0: free
      uint32_t end = kNone;
    };

    uint64_t KeyAt(std::span<const int32_t> history, size_t end) const;
    Slot& Find(uint64_t key);
    void Grow();

    uint32_t size_;
    std::vector<Slot> slots_;
    size_t used_ = 0;                // slots with keys
    std::vector<uint32_t> earlier_;  // [history]: kNone, or the end before the one at each place
  };

  const NgramOptions options_;
  std::vector<int32_t> history_;
  std::vector<Table> tables_;  // the longest first
  std::vector<int32_t> drafts_;
};

}  // namespace aster::draft
