// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "grammar/pattern_parser.h"

namespace aster::grammar {
namespace {

using Kind = PatternNode::Kind;
using Ranges = std::vector<CodePointRange>;

// Limits of a pattern's machine, and of its combination with lengths.
constexpr size_t kMaxStates = 4096;
constexpr size_t kMaxPlaces = 1 << 15;
constexpr size_t kMaxSteps = 200'000;

struct Step {
  uint32_t characters;  // a set of them
  uint32_t to;
};

Ranges InBoth(const Ranges& a, const Ranges& b) { return Without(a, Without(a, b)); }

// A nondeterministic automaton over characters; some steps need no character.
class Machine {
 public:
  struct State {
    std::vector<Step> steps;
    std::vector<uint32_t> free;  // states reached without a character
  };
  // The possible steps of a state, after any steps without a character.
  struct Closure {
    std::vector<Step> steps;
    bool can_end = false;
  };

  static Result<Machine> Of(const PatternNode& node) {
    Machine machine;
    machine.AddState();
    machine.end_ = machine.Build(node, 0);
    if (machine.states_.size() >= kMaxStates) return ResourceExhausted("the pattern is too large");
    return machine;
  }

  // The intersection of two machines.
  static Result<Machine> Both(const Machine& a, const Machine& b) {
    Machine both;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers = {{{0, 0}, both.AddState()}};
    std::vector<std::pair<uint32_t, uint32_t>> left = {{0, 0}};
    both.end_ = both.AddState();
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> sets;
    size_t steps = 0;
    while (!left.empty() && !both.is_full()) {
      const auto pair = left.back();
      left.pop_back();
      const uint32_t from = numbers.at(pair);
      const Closure of_a = a.ClosureOf(pair.first);
      const Closure of_b = b.ClosureOf(pair.second);
      if (of_a.can_end && of_b.can_end) both.states_[from].free.push_back(both.end_);
      steps += of_a.steps.size() * of_b.steps.size();
      if (steps > kMaxSteps) break;
      for (const Step& one : of_a.steps) {
        for (const Step& other : of_b.steps) {
          const std::pair key = {one.characters, other.characters};
          const auto [set, is_new] = sets.try_emplace(key, 0);
          if (is_new) set->second = both.SetOf(InBoth(a.sets_[key.first], b.sets_[key.second]));
          if (both.sets_[set->second].empty()) continue;
          const std::pair next = {one.to, other.to};
          if (!numbers.contains(next)) {
            numbers[next] = both.AddState();
            left.push_back(next);
          }
          both.states_[from].steps.push_back({set->second, numbers[next]});
        }
      }
    }
    if (!left.empty() || both.is_full() || steps > kMaxSteps)
      return ResourceExhausted("too much is asked of one text");
    return both;
  }

  const std::vector<Ranges>& sets() const { return sets_; }

  Closure ClosureOf(uint32_t state) const {
    Closure closure;
    std::vector<bool> seen(states_.size(), false);
    std::vector<uint32_t> left = {state};
    seen[state] = true;
    while (!left.empty()) {
      const uint32_t at = left.back();
      left.pop_back();
      closure.can_end |= at == end_;
      const State& here = states_[at];
      closure.steps.insert(closure.steps.end(), here.steps.begin(), here.steps.end());
      for (const uint32_t next : here.free) {
        if (seen[next]) continue;
        seen[next] = true;
        left.push_back(next);
      }
    }
    return closure;
  }

 private:
  // Above the limit, states are not made any more; Of returns the error.
  uint32_t AddState() {
    if (states_.size() < kMaxStates) states_.emplace_back();
    return static_cast<uint32_t>(states_.size() - 1);
  }
  bool is_full() const { return states_.size() >= kMaxStates; }

  // Builds the node from that state on; returns its end.
  uint32_t Build(const PatternNode& node, uint32_t from) {
    if (is_full()) return from;
    switch (node.kind) {
      case Kind::kClass: {
        const uint32_t to = AddState();
        states_[from].steps.push_back({SetOf(node.ranges), to});
        return to;
      }
      case Kind::kSequence:
        for (const PatternNode& child : node.children) from = Build(child, from);
        return from;
      case Kind::kChoice: {
        std::vector<uint32_t> ends;
        for (const PatternNode& child : node.children) {
          const uint32_t begin = AddState();
          states_[from].free.push_back(begin);
          ends.push_back(Build(child, begin));
        }
        const uint32_t end = AddState();
        for (const uint32_t one : ends) states_[one].free.push_back(end);
        return end;
      }
      case Kind::kRepeat:
        return BuildRepeat(node, from);
    }
    return from;
  }

  uint32_t BuildRepeat(const PatternNode& node, uint32_t from) {
    const PatternNode& child = node.children.front();
    for (uint32_t i = 0; i < node.minimum && !is_full(); ++i) {
      const uint32_t next = Build(child, from);
      if (next == from) break;  // the empty text, however often
      from = next;
    }
    if (node.maximum == node.minimum) return from;
    if (node.maximum == kNoMaximum) {
      const uint32_t begin = AddState();
      states_[from].free.push_back(begin);
      const uint32_t again = Build(child, begin);
      states_[again].free.push_back(begin);
      const uint32_t end = AddState();
      states_[begin].free.push_back(end);
      return end;
    }
    const uint32_t end = AddState();
    for (uint32_t i = node.minimum; i < node.maximum && !is_full(); ++i) {
      states_[from].free.push_back(end);
      // A separate state: returning to the child's beginning must not reach the end there.
      const uint32_t begin = AddState();
      states_[from].free.push_back(begin);
      from = Build(child, begin);
    }
    states_[from].free.push_back(end);
    return end;
  }

  uint32_t SetOf(const Ranges& ranges) {
    const auto same = [&](const Ranges& other) {
      return std::ranges::equal(ranges, other, [](const auto& a, const auto& b) {
        return a.first == b.first && a.last == b.last;
      });
    };
    const auto found = std::ranges::find_if(sets_, same);
    const auto index = static_cast<uint32_t>(found - sets_.begin());
    if (found == sets_.end()) sets_.push_back(ranges);
    return index;
  }

  std::vector<State> states_;
  std::vector<Ranges> sets_;
  uint32_t end_ = 0;
};

// A state of the machine and the number of characters read, as far as it matters.
struct Place {
  uint32_t state = 0;
  uint32_t count = 0;
  std::vector<Step> steps = {};  // to other places
  bool can_end = false;
  bool is_alive = false;  // an end can be reached
};

class Places {
 public:
  Places(const Machine& machine, LengthRange length) : machine_(machine), length_(length) {}

  // Places that can be reached and from which an end can be reached.
  Result<std::vector<Place>> Find() {
    Add(0, 0);
    size_t steps = 0;
    for (size_t i = 0; i < places_.size(); ++i) {
      const uint32_t state = places_[i].state;
      const uint32_t count = places_[i].count;
      const Machine::Closure& closure = ClosureOf(state);
      places_[i].can_end = closure.can_end && count >= length_.minimum;
      if (length_.maximum != kNoMaximum && count == length_.maximum) continue;
      const uint32_t next = Counted(count);
      for (const Step& step : closure.steps) {
        if (machine_.sets()[step.characters].empty()) continue;
        const uint32_t to = Add(step.to, next);
        places_[i].steps.push_back({step.characters, to});
      }
      steps += places_[i].steps.size();
      if (places_.size() > kMaxPlaces || steps > kMaxSteps)
        return ResourceExhausted("the pattern is too large, or too large for its lengths");
    }
    FindAlive();
    return std::move(places_);
  }

 private:
  // Without a maximum, all numbers above the minimum are equivalent.
  uint32_t Counted(uint32_t count) const {
    return length_.maximum == kNoMaximum ? std::min(count + 1, length_.minimum) : count + 1;
  }
  uint32_t Add(uint32_t state, uint32_t count) {
    const auto [found, is_new] =
        numbers_.try_emplace({state, count}, static_cast<uint32_t>(places_.size()));
    if (is_new) places_.push_back({.state = state, .count = count});
    return found->second;
  }
  const Machine::Closure& ClosureOf(uint32_t state) {
    const auto found = closures_.find(state);
    if (found != closures_.end()) return found->second;
    return closures_[state] = machine_.ClosureOf(state);
  }
  void FindAlive() {
    std::vector<std::vector<uint32_t>> before(places_.size());
    std::vector<uint32_t> left;
    for (uint32_t i = 0; i < places_.size(); ++i) {
      for (const Step& step : places_[i].steps) before[step.to].push_back(i);
      if (!places_[i].can_end) continue;
      places_[i].is_alive = true;
      left.push_back(i);
    }
    while (!left.empty()) {
      const uint32_t at = left.back();
      left.pop_back();
      for (const uint32_t one : before[at]) {
        if (std::exchange(places_[one].is_alive, true)) continue;
        left.push_back(one);
      }
    }
  }

  const Machine& machine_;
  const LengthRange length_;
  std::vector<Place> places_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers_;
  std::map<uint32_t, Machine::Closure> closures_;
};

bool Contains(const Ranges& ranges, uint32_t character) {
  return std::ranges::any_of(ranges, [&](const auto& range) {
    return range.first <= character && character <= range.last;
  });
}

// One of these characters, as in a JSON string.
Element JsonCharacter(const Ranges& ranges, Grammar& grammar) {
  const Ranges escaped = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
  std::vector<Sequence> alternatives;
  if (const Ranges plain = Without(ranges, escaped); !plain.empty())
    alternatives.push_back({grammar.Characters(plain)});
  struct Short {
    char character;
    char letter;
  };
  constexpr Short kShort[] = {{'"', '"'},  {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'},
                              {'\n', 'n'}, {'\r', 'r'},  {'\t', 't'}};
  ByteSet letters;
  for (const Short& one : kShort) {
    if (Contains(ranges, static_cast<uint32_t>(one.character)))
      letters.set(static_cast<uint8_t>(one.letter));
  }
  if (letters.any())
    alternatives.push_back({grammar.Literal("\\").front(), grammar.Bytes(letters)});
  for (uint32_t control = 0; control < 0x20; ++control) {
    const bool is_short = std::ranges::any_of(
        kShort, [&](const Short& one) { return static_cast<uint32_t>(one.character) == control; });
    if (!is_short && Contains(ranges, control))
      alternatives.push_back(grammar.Literal(fmt::format("\\u{:04x}", control)));
  }
  return Grammar::Rule(grammar.AddRule(std::move(alternatives)));
}

}  // namespace

Result<Element> AddPattern(std::string_view pattern, LengthRange length, Grammar& grammar) {
  const std::string one(pattern);
  return AddPatterns({&one, 1}, length, grammar);
}

// Intersects the automata of all patterns, adds the length, and makes a rule of every place.
Result<Element> AddPatterns(std::span<const std::string> patterns, LengthRange length,
                            Grammar& grammar) {
  CHECK(!patterns.empty());
  Machine machine = TRY(Machine::Of(TRY(ParsePattern(patterns.front()))));
  for (const std::string& more : patterns.subspan(1))
    machine = TRY(Machine::Both(machine, TRY(Machine::Of(TRY(ParsePattern(more))))));
  const std::vector<Place> places = TRY(Places(machine, length).Find());
  if (!places.front().is_alive) {
    return InvalidArgument("no text is of the pattern and as long as it has to be");
  }
  std::vector<RuleId> rules;
  for (size_t i = 0; i < places.size(); ++i) rules.push_back(grammar.AddRule());
  std::map<uint32_t, Element> characters;
  for (size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    if (!place.is_alive) continue;
    if (place.can_end) grammar.AddAlternative(rules[i], {});
    for (const Step& step : place.steps) {
      if (!places[step.to].is_alive) continue;
      auto found = characters.find(step.characters);
      if (found == characters.end()) {
        const Element made = JsonCharacter(machine.sets()[step.characters], grammar);
        found = characters.emplace(step.characters, made).first;
      }
      grammar.AddAlternative(rules[i], {found->second, Grammar::Rule(rules[step.to])});
    }
  }
  return Grammar::Rule(rules.front());
}

}  // namespace aster::grammar
