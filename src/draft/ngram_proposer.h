// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A drafter by n-gram lookup in the text itself (prompt lookup): proposes the tokens that followed
// the latest earlier occurrence of its last few tokens. Costs nothing next to a model. Must not
// know models or text.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace aster::draft {

struct NgramOptions {
  uint32_t shortest = 2;    // tokens that must match
  uint32_t longest = 4;     // tokens that are looked for; the longest match counts
  uint32_t max_tokens = 8;  // of a draft
};

// Each token appended, taken back or drafted costs a few table look-ups, however long the history
// is (amortised: the tables grow by doubling). Not for concurrent use.
class NgramProposer {
 public:
  static constexpr uint32_t kLongest = 8;  // of the above

  // 1 <= shortest <= longest <= kLongest.
  explicit NgramProposer(NgramOptions options = {});

  void Append(int32_t token);
  void Append(std::span<const int32_t> tokens);
  // Forgets the tokens from `length` on.
  void Rewind(size_t length);
  std::span<const int32_t> history() const { return history_; }

  // A draft: the tokens that followed the latest earlier occurrence of the history's last tokens,
  // for the longest match; empty without one. A draft that reaches the history's end goes on with
  // itself, so that repetition is drafted in full. Valid until the next call.
  std::span<const int32_t> Propose();

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // The latest place behind which each sequence of `size` tokens ended, before the history's end.
  // Open addressing; a slot whose sequence was taken back keeps its key and says kNone.
  class Table {
   public:
    explicit Table(uint32_t size) : size_(size) {}

    // The history has a new last token.
    void Append(std::span<const int32_t> history);
    // The history's last token goes; call before it does.
    void Pop(std::span<const int32_t> history);
    // Where the history's last tokens ended before, or kNone.
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
