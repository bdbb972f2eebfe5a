// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/matcher.h"

#include <algorithm>

#include "base/check.h"

namespace aster::grammar {

Matcher::Matcher(const Grammar& grammar) : grammar_(grammar) {
  std::vector<StackId> stacks;
  bool can_end = false;
  for (const uint32_t begin : grammar.alternatives(0)) Expand(begin, kEmpty, stacks, can_end);
  start_ = Intern(std::move(stacks), can_end);
}

Matcher::StackId Matcher::Push(uint32_t element, StackId rest) {
  const uint64_t key = (uint64_t{element} << 32) | static_cast<uint32_t>(rest);
  const auto [found, is_new] = stack_ids_.try_emplace(key, static_cast<StackId>(stacks_.size()));
  if (is_new) stacks_.push_back({.element = element, .rest = rest});
  return found->second;
}

// Goes on to the places where bytes are read. Without left recursion this ends; work that is left
// is kept in a list, so that no grammar can overflow the program's own stack.
void Matcher::Expand(uint32_t element, StackId rest, std::vector<StackId>& out, bool& can_end) {
  std::vector<Stack> work = {{.element = element, .rest = rest}};
  std::vector<StackId> seen;
  while (!work.empty() && out.size() < kMaxStacksAtOnce) {
    const Stack at = work.back();
    work.pop_back();
    const Element& next = grammar_.elements()[at.element];
    if (!next.is_rule && next.index == Grammar::kEnd) {
      if (at.rest == kEmpty) {
        can_end = true;
      } else {
        work.push_back(stacks_[static_cast<size_t>(at.rest)]);
      }
      continue;
    }
    const StackId stack = Push(at.element, at.rest);
    if (std::ranges::find(seen, stack) != seen.end()) continue;
    seen.push_back(stack);
    if (!next.is_rule) {
      out.push_back(stack);
      continue;
    }
    // What ends with a rule goes on where that ends: repetitions do not pile up.
    const Element& behind = grammar_.elements()[at.element + 1];
    const bool is_last = !behind.is_rule && behind.index == Grammar::kEnd;
    const StackId follow = is_last ? at.rest : Push(at.element + 1, at.rest);
    for (const uint32_t begin : grammar_.alternatives(next.index)) {
      work.push_back({.element = begin, .rest = follow});
    }
  }
}

StateId Matcher::Intern(std::vector<StackId> stacks, bool can_end) {
  std::ranges::sort(stacks);
  stacks.erase(std::unique(stacks.begin(), stacks.end()), stacks.end());
  if (stacks.empty() && !can_end) return kDead;
  const auto found = state_ids_.find({stacks, can_end});
  if (found != state_ids_.end()) return found->second;
  if (states_.size() == kMaxStates) return kDead;
  const auto id = static_cast<StateId>(states_.size());
  state_ids_.emplace(std::pair(stacks, can_end), id);
  states_.push_back({.stacks = std::move(stacks),
                     .can_end = can_end,
                     .next = std::vector<StateId>(256, kUnknown)});
  return id;
}

StateId Matcher::FindNext(StateId state, uint8_t byte) {
  std::vector<StackId> stacks;
  bool can_end = false;
  // States may move while others are made.
  const std::vector<StackId> from = states_[static_cast<size_t>(state)].stacks;
  for (const StackId id : from) {
    const Stack stack = stacks_[static_cast<size_t>(id)];
    if (!grammar_.bytes(grammar_.elements()[stack.element].index).test(byte)) continue;
    Expand(stack.element + 1, stack.rest, stacks, can_end);
  }
  const StateId next = Intern(std::move(stacks), can_end);
  states_[static_cast<size_t>(state)].next[byte] = next;
  return next;
}

bool Matcher::Contains(StackId stack, StackId below) const {
  for (size_t depth = 0; stack != kEmpty && depth <= kSplitDepth; ++depth) {
    stack = stacks_[static_cast<size_t>(stack)].rest;
    if (stack == below) return true;
  }
  return false;
}

// The same without what is below.
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

Matcher::Split Matcher::SplitAtCommon(StateId state) {
  const std::vector<StackId> stacks = states_[static_cast<size_t>(state)].stacks;
  if (stacks.empty() || CanEnd(state)) return {.inside = state, .below = kDead};
  StackId below = stacks.front();
  for (size_t depth = 0; depth < kSplitDepth; ++depth) {
    below = stacks_[static_cast<size_t>(below)].rest;
    if (below == kEmpty) break;
    if (!std::ranges::all_of(stacks, [&](StackId stack) { return Contains(stack, below); }))
      continue;
    std::vector<StackId> inside;
    for (const StackId stack : stacks) inside.push_back(Rebase(stack, below));
    const Stack at = stacks_[static_cast<size_t>(below)];
    std::vector<StackId> behind;
    bool can_end = false;
    Expand(at.element, at.rest, behind, can_end);
    return {.inside = Intern(std::move(inside), false),
            .below = Intern(std::move(behind), can_end)};
  }
  return {.inside = state, .below = kDead};
}

}  // namespace aster::grammar
