// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Follows a grammar through a text, byte by byte. All ways in which the text can be read are
// followed at once; where they have led is a state with a number, so that what is known of a state
// is computed once. Must not know tokens.
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
inline constexpr StateId kDead = -1;  // no text of the grammar begins so

// Not for concurrent use.
class Matcher {
 public:
  // The grammar is finished, and outlives it.
  explicit Matcher(const Grammar& grammar);

  StateId start() const { return start_; }
  // Where `byte` leads; kDead where it leads nowhere.
  StateId Next(StateId state, uint8_t byte) {
    if (state == kDead) return kDead;
    const StateId known = next_[IndexOf(state, byte)];
    return known != kUnknown ? known : FindNext(state, byte);
  }

  // Whether the grammar could be read in more ways than may be followed, or took more work or
  // memory than it may: then states say nothing any more.
  bool has_failed() const { return has_failed_; }
  // Work is counted in places that are looked at. What is left is added to, up to the limit.
  uint64_t work_left() const { return work_left_; }
  void AddWork(uint64_t work) { LimitWork(work_left_ + work); }
  void LimitWork(uint64_t work) { work_left_ = std::min(work, kMaxWork); }
  // Whether so much is known that it is time to begin anew, with another matcher.
  bool is_full() const { return memory() > kMaxMemory / 2; }
  // Whether the text may end here.
  bool CanEnd(StateId state) const {
    return state != kDead && states_[static_cast<size_t>(state)].can_end;
  }

  // What all readings of a state have in common below: inside, a state that is the same wherever
  // else in a text the same thing is read (a string, say), and can end where that is left; below,
  // the state behind it, or kDead where nothing is.
  struct Split {
    StateId inside = kDead;
    StateId below = kDead;
  };
  Split SplitAtCommon(StateId state);

  size_t state_count() const { return states_.size(); }

 private:
  // A place in the grammar with what follows it: hash-consed, so that equal stacks are one number.
  using StackId = int32_t;
  static constexpr StackId kEmpty = -1;
  static constexpr StateId kUnknown = -2;
  // Grammars that mean something come near none of these. Some tenths of a second of work.
  static constexpr uint64_t kMaxWork = 1 << 22;
  static constexpr size_t kMaxMemory = 64 << 20;
  static constexpr size_t kMaxStacksAtOnce = 1 << 13;
  // How far down a common place is looked for.
  static constexpr size_t kSplitDepth = 8;

  struct Stack {
    uint32_t element;
    StackId rest;
  };
  struct State {
    std::vector<StackId> stacks;  // at bytes; ascending
    bool can_end = false;
  };
  // Where some text leads.
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
  StateId FindNext(StateId state, uint8_t byte);

  const Grammar& grammar_;
  std::vector<Stack> stacks_;
  std::unordered_map<uint64_t, StackId> stack_ids_;
  std::vector<State> states_;
  std::vector<StateId> next_;   // [states, classes of bytes]
  std::vector<uint32_t> seen_;  // [stacks] in which walk it was met last
  uint32_t walk_ = 0;
  size_t held_stacks_ = 0;  // of all states
  uint64_t work_left_ = kMaxWork;
  bool has_failed_ = false;
  std::map<std::pair<std::vector<StackId>, bool>, StateId> state_ids_;
  StateId start_ = kDead;
};

}  // namespace aster::grammar
