// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Follows a grammar through a text, byte by byte. All ways to read the text are followed at the
// same time; together they are a state with a number, so that results for a state are computed
// once. Must not know tokens.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/grammar.h"

namespace aster::grammar {

using StateId = int32_t;
inline constexpr StateId kDead = -1;  // no text of the grammar begins like this

// Not for concurrent use.
class Matcher {
 public:
  // The grammar is finished, and outlives it.
  explicit Matcher(const Grammar& grammar);

  StateId start() const { return start_; }
  // The state after `byte`; kDead if it is not allowed.
  StateId Next(StateId state, uint8_t byte) {
    if (state == kDead) return kDead;
    const StateId known = next_[IndexOf(state, byte)];
    return known != kUnknown ? known : FindMtp(state, byte);
  }

  // Whether there were more ways to read the text, or more work or memory, than allowed: then
  // states are no longer valid.
  bool has_failed() const { return has_failed_; }
  // Work is counted in visited places. Adds to the remaining work, up to the limit.
  uint64_t work_left() const { return work_left_; }
  void AddWork(uint64_t work) { LimitWork(work_left_ + work); }
  void LimitWork(uint64_t work) { work_left_ = std::min(work, kMaxWork); }
  // Whether it uses so much memory that another matcher should replace it.
  bool is_full() const { return memory() > kMaxMemory / 2; }
  // Whether the text may end here.
  bool CanEnd(StateId state) const {
    return state != kDead && states_[static_cast<size_t>(state)].can_end;
  }

  // The common bottom of all stacks of a state. inside: the state above it, which is the same
  // wherever the same thing (a string, say) is read, and can end where that ends. below: the state
  // after it, or kDead if there is none.
  struct Split {
    StateId inside = kDead;
    StateId below = kDead;
  };
  Split SplitAtCommon(StateId state);

  size_t state_count() const { return states_.size(); }

 private:
  // A place in the grammar with everything after it; hash-consed: equal stacks have one number.
  using StackId = int32_t;
  static constexpr StackId kEmpty = -1;
  static constexpr StateId kUnknown = -2;
  // Useful grammars stay far below these limits. Some tenths of a second of work.
  static constexpr uint64_t kMaxWork = 1 << 22;
  static constexpr size_t kMaxMemory = 64 << 20;
  static constexpr size_t kMaxStacksAtOnce = 1 << 13;
  // How deep a common place is searched for.
  static constexpr size_t kSplitDepth = 8;

  struct Stack {
    uint32_t element;
    StackId rest;
  };
  struct State {
    std::vector<StackId> stacks;  // before a byte; ascending
    bool can_end = false;
  };
  // The places after some text.
  struct Reached {
    std::vector<StackId> stacks;
    bool can_end = false;
  };

  size_t IndexOf(StateId state, uint8_t byte) const {
    return static_cast<size_t>(state) * grammar_.class_count() + grammar_.class_of(byte);
  }
  size_t memory() const;
  bool Spend(uint64_t work);
  StackId Push(uint32_t element, StackId rest);
  bool Contains(StackId stack, StackId below) const;
  StackId Rebase(StackId stack, StackId below);
  void Expand(uint32_t element, StackId rest, Reached& reached);
  StateId Intern(Reached reached);
  StateId FindMtp(StateId state, uint8_t byte);

  const Grammar& grammar_;
  std::vector<Stack> stacks_;
  std::unordered_map<uint64_t, StackId> stack_ids_;
  std::vector<State> states_;
  std::vector<StateId> next_;   // [states, classes of bytes]
  std::vector<uint32_t> seen_;  // [stacks] the last walk that visited it
  uint32_t walk_ = 0;
  size_t held_stacks_ = 0;  // of all states
  uint64_t work_left_ = kMaxWork;
  bool has_failed_ = false;
  std::map<std::pair<std::vector<StackId>, bool>, StateId> state_ids_;
  StateId start_ = kDead;
};

}  // namespace aster::grammar
