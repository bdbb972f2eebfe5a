// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Follows a grammar through a text, byte by byte. All ways in which the text can be read are
// followed at once; where they have led is a state with a number, so that what is known of a state
// is computed once. Must not know tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
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
    const StateId known = states_[static_cast<size_t>(state)].next[byte];
    return known != kUnknown ? known : FindNext(state, byte);
  }
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
  // Beyond, nothing is allowed any more: no real text comes near.
  static constexpr size_t kMaxStates = 1 << 17;
  // How far down a common place is looked for.
  static constexpr size_t kSplitDepth = 8;
  static constexpr size_t kMaxStacksAtOnce = 4096;

  struct Stack {
    uint32_t element;
    StackId rest;
  };
  struct State {
    std::vector<StackId> stacks;  // at bytes; ascending
    bool can_end = false;
    std::vector<StateId> next;  // [256]
  };

  StackId Push(uint32_t element, StackId rest);
  bool Contains(StackId stack, StackId below) const;
  StackId Rebase(StackId stack, StackId below);
  void Expand(uint32_t element, StackId rest, std::vector<StackId>& out, bool& can_end);
  StateId Intern(std::vector<StackId> stacks, bool can_end);
  StateId FindNext(StateId state, uint8_t byte);

  const Grammar& grammar_;
  std::vector<Stack> stacks_;
  std::unordered_map<uint64_t, StackId> stack_ids_;
  std::vector<State> states_;
  std::map<std::pair<std::vector<StackId>, bool>, StateId> state_ids_;
  StateId start_ = kDead;
};

}  // namespace aster::grammar
