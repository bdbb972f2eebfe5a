// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace aster::grammar {
namespace {

struct ByteRange {
  uint8_t first;
  uint8_t last;
};

// Sequences of byte ranges that are the UTF-8 of the characters from `first` to `last`, which have
// the same number of bytes.
void SplitUtf8(uint32_t first, uint32_t last, std::vector<std::vector<ByteRange>>& out) {
  std::string low;
  std::string high;
  AppendUtf8(low, first);
  AppendUtf8(high, last);
  const size_t size = low.size();
  for (size_t i = 1; i < size; ++i) {
    // Splits where characters differ in more than the last i bytes.
    const uint32_t mask = (uint32_t{1} << (6 * i)) - 1;
    if ((first & ~mask) == (last & ~mask)) continue;
    if ((first & mask) != 0) {
      SplitUtf8(first, first | mask, out);
      return SplitUtf8((first | mask) + 1, last, out);
    }
    if ((last & mask) != mask) {
      SplitUtf8(first, (last & ~mask) - 1, out);
      return SplitUtf8(last & ~mask, last, out);
    }
  }
  std::vector<ByteRange> sequence;
  for (size_t i = 0; i < size; ++i) {
    sequence.push_back({static_cast<uint8_t>(low[i]), static_cast<uint8_t>(high[i])});
  }
  out.push_back(std::move(sequence));
}

// Without surrogates, and split where characters become longer.
std::vector<std::vector<ByteRange>> Utf8Of(std::vector<CodePointRange> ranges) {
  constexpr CodePointRange kWhole[] = {
      {0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xD7FF}, {0xE000, 0xFFFF}, {0x10000, kLastCodePoint}};
  std::vector<std::vector<ByteRange>> sequences;
  for (const CodePointRange& range : ranges) {
    for (const CodePointRange& whole : kWhole) {
      const uint32_t first = std::max(range.first, whole.first);
      const uint32_t last = std::min(range.last, whole.last);
      if (first <= last) SplitUtf8(first, last, sequences);
    }
  }
  return sequences;
}

std::vector<CodePointRange> Negated(std::vector<CodePointRange> ranges) {
  std::ranges::sort(ranges, {}, &CodePointRange::first);
  std::vector<CodePointRange> others;
  uint32_t next = 0;
  for (const CodePointRange& range : ranges) {
    if (range.first > next) others.push_back({next, range.first - 1});
    next = std::max(next, range.last + 1);
  }
  if (next <= kLastCodePoint) others.push_back({next, kLastCodePoint});
  return others;
}

}  // namespace

RuleId Grammar::AddRule() {
  ++size_;
  rules_.emplace_back();
  return static_cast<RuleId>(rules_.size() - 1);
}

void Grammar::AddAlternative(RuleId rule, Sequence sequence) {
  size_ += sequence.size() + 1;
  if (!is_too_large()) rules_[rule].push_back(std::move(sequence));
}

RuleId Grammar::AddRule(std::vector<Sequence> alternatives) {
  const RuleId rule = AddRule();
  for (Sequence& alternative : alternatives) AddAlternative(rule, std::move(alternative));
  return rule;
}

Element Grammar::Bytes(const ByteSet& set) {
  const auto [found, is_new] = set_ids_.try_emplace(set, static_cast<uint32_t>(sets_.size()));
  if (is_new) sets_.push_back(set);
  return {.is_rule = false, .index = found->second};
}

Sequence Grammar::Literal(std::string_view text) {
  if (text.size() > kMaxElements) {
    size_ += text.size();
    return {};
  }
  Sequence sequence;
  for (const char c : text) {
    ByteSet set;
    set.set(static_cast<uint8_t>(c));
    sequence.push_back(Bytes(set));
  }
  return sequence;
}

Element Grammar::Characters(std::vector<CodePointRange> ranges, bool is_negated) {
  if (is_negated) ranges = Negated(std::move(ranges));
  ByteSet ascii;
  std::vector<Sequence> alternatives;
  for (const auto& bytes : Utf8Of(std::move(ranges))) {
    Sequence sequence;
    for (const ByteRange& range : bytes) {
      ByteSet set;
      for (uint32_t byte = range.first; byte <= range.last; ++byte) set.set(byte);
      if (bytes.size() == 1) ascii |= set;
      sequence.push_back(Bytes(set));
    }
    if (bytes.size() > 1) alternatives.push_back(std::move(sequence));
  }
  if (alternatives.empty()) return Bytes(ascii);
  if (ascii.any()) alternatives.insert(alternatives.begin(), Sequence{Bytes(ascii)});
  return Rule(AddRule(std::move(alternatives)));
}

Element Grammar::Include(const Grammar& other) {
  const auto first = static_cast<RuleId>(rules_.size());
  for (size_t i = 0; i < other.rules_.size(); ++i) AddRule();
  for (RuleId rule = 0; rule < other.rules_.size(); ++rule) {
    for (Sequence sequence : other.rules_[rule]) {
      for (Element& element : sequence)
        element = element.is_rule ? Rule(first + element.index) : Bytes(other.sets_[element.index]);
      AddAlternative(first + rule, std::move(sequence));
    }
  }
  return Rule(first);
}

Result<Element> Grammar::Repeat(const Sequence& sequence, uint32_t minimum, uint32_t maximum) {
  const bool is_bounded = maximum != kNoMaximum;
  if (minimum > kMaxRepeats || (is_bounded && maximum > kMaxRepeats)) {
    return ResourceExhausted(fmt::format("more than {} repetitions", kMaxRepeats));
  }
  if (is_bounded && maximum < minimum) return InvalidArgument("a maximum below the minimum");
  // Repetitions of repetitions of a short text would take hours.
  if (is_too_large()) return Rule(AddRule());
  // The part after the first `minimum`: unlimited, or x (x (x …)?)?.
  const RuleId once = AddRule({sequence});
  RuleId rest = AddRule();
  AddAlternative(rest, {});
  if (!is_bounded) {
    AddAlternative(rest, {Rule(once), Rule(rest)});
  } else {
    for (uint32_t i = minimum; i < maximum; ++i) {
      const RuleId longer = AddRule();
      AddAlternative(longer, {});
      AddAlternative(longer, {Rule(once), Rule(rest)});
      rest = longer;
    }
  }
  Sequence all;
  for (uint32_t i = 0; i < minimum; ++i) all.push_back(Rule(once));
  all.push_back(Rule(rest));
  return Rule(AddRule({std::move(all)}));
}

// Rules that match the empty text; with bytes: rules that match any text.
std::vector<bool> Grammar::RulesThatEnd(bool with_bytes) const {
  std::vector<bool> ends(rules_.size(), false);
  std::vector<RuleId> found;
  const auto add = [&](RuleId rule) {
    if (ends[rule]) return;
    ends[rule] = true;
    found.push_back(rule);
  };
  const auto may_end = [&](const Element& element) {
    return element.is_rule || (with_bytes && sets_[element.index].any());
  };
  // Sequences, with the number of their rules that are not known to end yet.
  struct Waiting {
    RuleId rule;
    size_t left;
  };
  std::vector<Waiting> waiting;
  std::vector<std::vector<size_t>> users(rules_.size());  // of rules, in `waiting`
  for (RuleId rule = 0; rule < rules_.size(); ++rule) {
    for (const Sequence& sequence : rules_[rule]) {
      if (!std::ranges::all_of(sequence, may_end)) continue;
      const auto left = std::ranges::count_if(sequence, &Element::is_rule);
      if (left == 0) add(rule);
      for (const Element& element : sequence) {
        if (element.is_rule) users[element.index].push_back(waiting.size());
      }
      waiting.push_back({.rule = rule, .left = static_cast<size_t>(left)});
    }
  }
  while (!found.empty()) {
    const RuleId rule = found.back();
    found.pop_back();
    for (const size_t user : users[rule]) {
      if (--waiting[user].left == 0) add(waiting[user].rule);
    }
  }
  return ends;
}

// A rule that can reach itself without a byte would be followed for ever.
Status Grammar::CheckLeftRecursion() const {
  const std::vector<bool> is_nullable = RulesThatEnd(/*with_bytes=*/false);
  // Kahn's algorithm: removes rules whose first rules were all removed.
  std::vector<std::vector<RuleId>> users(rules_.size());
  std::vector<size_t> uses(rules_.size(), 0);
  for (RuleId rule = 0; rule < rules_.size(); ++rule) {
    for (const Sequence& sequence : rules_[rule]) {
      for (const Element& element : sequence) {
        if (!element.is_rule) break;
        users[element.index].push_back(rule);
        ++uses[rule];
        if (!is_nullable[element.index]) break;
      }
    }
  }
  std::vector<RuleId> ready;
  for (RuleId rule = 0; rule < rules_.size(); ++rule) {
    if (uses[rule] == 0) ready.push_back(rule);
  }
  size_t gone = 0;
  while (!ready.empty()) {
    const RuleId rule = ready.back();
    ready.pop_back();
    ++gone;
    for (const RuleId user : users[rule]) {
      if (--uses[user] == 0) ready.push_back(user);
    }
  }
  if (gone == rules_.size()) return Ok();
  return InvalidArgument("a rule that begins with itself");
}

void Grammar::FindClasses() {
  for (const ByteSet& set : sets_) {
    // A class that is partly in the set is divided.
    std::array<int, 256> inside;
    inside.fill(-1);
    std::array<bool, 256> has_outside = {};
    for (size_t byte = 0; byte < 256; ++byte) has_outside[classes_[byte]] |= !set.test(byte);
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint8_t old = classes_[byte];
      if (!set.test(byte) || !has_outside[old]) continue;
      if (inside[old] < 0) inside[old] = static_cast<int>(class_count_++);
      classes_[byte] = static_cast<uint8_t>(inside[old]);
    }
    if (class_count_ == 256) return;
  }
}

Status Grammar::Finish() {
  if (is_too_large()) return InvalidArgument("the grammar is too large");
  TRY(CheckLeftRecursion());
  const std::vector<bool> ends = RulesThatEnd(/*with_bytes=*/true);
  if (!rules_.empty() && !ends[0]) return InvalidArgument("no text of this form can end");
  const auto may_end = [&](const Element& element) {
    return element.is_rule ? ends[element.index] : sets_[element.index].any();
  };
  for (const auto& alternatives : rules_) {
    std::vector<uint32_t>& starts = starts_.emplace_back();
    for (const Sequence& sequence : alternatives) {
      // A text that began with this rule could never end.
      if (!std::ranges::all_of(sequence, may_end)) continue;
      starts.push_back(static_cast<uint32_t>(elements_.size()));
      elements_.insert(elements_.end(), sequence.begin(), sequence.end());
      elements_.push_back({.is_rule = false, .index = kEnd});
    }
  }
  FindClasses();
  return Ok();
}

}  // namespace aster::grammar
