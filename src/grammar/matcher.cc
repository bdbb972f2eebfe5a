// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/matcher.h"

#include <utility>

namespace aster::grammar {

Matcher::Matcher(const Grammar& grammar) : grammar_(grammar) {
  Reached reached;
  ++walk_;
  for (const uint32_t begin : grammar.alternatives(0)) Expand(begin, kEmpty, reached);
  start_ = Intern(std::move(reached));
}

// Includes the overhead of a hash table and a tree for each entry.
size_t Matcher::memory() const {
  constexpr size_t kStackBytes = sizeof(Stack) + sizeof(uint32_t) + 48;
  constexpr size_t kStateBytes = sizeof(State) + 96;
  return stacks_.size() * kStackBytes + states_.size() * kStateBytes +
         next_.size() * sizeof(StateId) + 2 * held_stacks_ * sizeof(StackId);
}

// False if no work is left.
bool Matcher::Spend(uint64_t work) {
  if (has_failed_) return false;
  has_failed_ = work > work_left_ || memory() > kMaxMemory;
  if (!has_failed_) work_left_ -= work;
  return !has_failed_;
}

Matcher::StackId Matcher::Push(uint32_t element, StackId rest) {
  const uint64_t key = (uint64_t{element} << 32) | static_cast<uint32_t>(rest);
  const auto [found, is_new] = stack_ids_.try_emplace(key, static_cast<StackId>(stacks_.size()));
  if (is_new) {
    stacks_.push_back({.element = element, .rest = rest});
    seen_.push_back(0);
  }
  return found->second;
}

// Follows rules to the places where bytes are read, visiting none twice in one walk. Without left
// recursion this ends, but the number of steps may be that of ways to leave rules out, so it is
// limited. The remaining work is a list, so that no grammar can overflow the program's own stack.
void Matcher::Expand(uint32_t element, StackId rest, Reached& reached) {
  std::vector<Stack> work = {{.element = element, .rest = rest}};
  while (!work.empty()) {
    const Stack at = work.back();
    work.pop_back();
    if (!Spend(1)) return;
    const Element& next = grammar_.elements()[at.element];
    if (!next.is_rule && next.index == Grammar::kEnd) {
      if (at.rest == kEmpty) {
        reached.can_end = true;
      } else {
        work.push_back(stacks_[static_cast<size_t>(at.rest)]);
      }
      continue;
    }
    const StackId stack = Push(at.element, at.rest);
    if (std::exchange(seen_[static_cast<size_t>(stack)], walk_) == walk_) continue;
    if (!next.is_rule) {
      reached.stacks.push_back(stack);
      if (reached.stacks.size() > kMaxStacksAtOnce) has_failed_ = true;
      continue;
    }
    // If a rule is the last element, continues after its caller: stacks of repetitions do not grow.
    const Element& behind = grammar_.elements()[at.element + 1];
    const bool is_last = !behind.is_rule && behind.index == Grammar::kEnd;
    const StackId follow = is_last ? at.rest : Push(at.element + 1, at.rest);
    const auto alternatives = grammar_.alternatives(next.index);
    if (!Spend(alternatives.size())) return;
    for (const uint32_t begin : alternatives) {
      work.push_back({.element = begin, .rest = follow});
    }
  }
}

StateId Matcher::Intern(Reached reached) {
  std::vector<StackId>& stacks = reached.stacks;
  std::ranges::sort(stacks);
  stacks.erase(std::unique(stacks.begin(), stacks.end()), stacks.end());
  if (stacks.empty() && !reached.can_end) return kDead;
  const auto found = state_ids_.find({stacks, reached.can_end});
  if (found != state_ids_.end()) return found->second;
  if (!Spend(1 + stacks.size())) return kDead;
  const auto id = static_cast<StateId>(states_.size());
  held_stacks_ += stacks.size();
  state_ids_.emplace(std::pair(stacks, reached.can_end), id);
  states_.push_back({.stacks = std::move(stacks), .can_end = reached.can_end});
  next_.resize(next_.size() + grammar_.class_count(), kUnknown);
  return id;
}

StateId Matcher::FindMtp(StateId state, uint8_t byte) {
  // Making states may move others.
  const std::vector<StackId> from = states_[static_cast<size_t>(state)].stacks;
  if (!Spend(1 + from.size())) return kDead;
  Reached reached;
  ++walk_;
  for (const StackId id : from) {
    const Stack stack = stacks_[static_cast<size_t>(id)];
    if (!grammar_.bytes(grammar_.elements()[stack.element].index).test(byte)) continue;
    Expand(stack.element + 1, stack.rest, reached);
  }
  const StateId next = Intern(std::move(reached));
  next_[IndexOf(state, byte)] = next;
  return next;
}

bool Matcher::Contains(StackId stack, StackId below) const {
  for (size_t depth = 0; stack != kEmpty && depth <= kSplitDepth; ++depth) {
    stack = stacks_[static_cast<size_t>(stack)].rest;
    if (stack == below) return true;
  }
  return false;
}

// The same stack without the part below.
Matcher::StackId Matcher::Rebase(StackId stack, StackId below) {
  std::vector<uint32_t> elements;
  for (; stack != below; stack = stacks_[static_cast<size_t>(stack)].rest) {
    elements.push_back(stacks_[static_cast<size_t>(stack)].element);
  }
  StackId rebased = kEmpty;
  for (auto element = elements.rbegin(); element != elements.rend(); ++element) {
    rebased = Push(*element, rebased);
  }
  return rebased;
}

// Goes down the first stack to a place that all stacks have.
Matcher::Split Matcher::SplitAtCommon(StateId state) {
  const std::vector<StackId> stacks = states_[static_cast<size_t>(state)].stacks;
  if (stacks.empty() || CanEnd(state)) return {.inside = state, .below = kDead};
  if (!Spend(kSplitDepth * stacks.size())) return {.inside = kDead, .below = kDead};
  StackId below = stacks.front();
  for (size_t depth = 0; depth < kSplitDepth; ++depth) {
    below = stacks_[static_cast<size_t>(below)].rest;
    if (below == kEmpty) break;
    if (!std::ranges::all_of(stacks, [&](StackId stack) { return Contains(stack, below); }))
      continue;
    Reached inside;
    for (const StackId stack : stacks) inside.stacks.push_back(Rebase(stack, below));
    const Stack at = stacks_[static_cast<size_t>(below)];
    Reached behind;
    ++walk_;
    Expand(at.element, at.rest, behind);
    return {.inside = Intern(std::move(inside)), .below = Intern(std::move(behind))};
  }
  return {.inside = state, .below = kDead};
}

}  // namespace aster::grammar
