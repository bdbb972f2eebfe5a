// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/free_text.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace aster::grammar {

Element TextWithout(std::span<const std::string> marks, const ByteSet& without, Grammar& grammar) {
  // A state is the longest suffix of the text that begins a mark.
  std::map<std::string, RuleId, std::less<>> states;
  for (const std::string& mark : marks) {
    CHECK(!mark.empty());
    for (size_t size = 0; size < mark.size(); ++size)
      states.try_emplace(mark.substr(0, size), RuleId{0});
  }
  for (auto& [begun, rule] : states) rule = grammar.AddRule();
  for (const auto& [begun, rule] : states) {
    std::map<RuleId, ByteSet> steps;
    for (size_t byte = 0; byte < 256; ++byte) {
      if (without.test(byte)) continue;
      const std::string read = begun + static_cast<char>(byte);
      const bool is_mark =
          std::ranges::any_of(marks, [&](const std::string& mark) { return read.ends_with(mark); });
      if (is_mark) continue;
      std::string_view rest = read;
      while (!states.contains(rest)) rest.remove_prefix(1);
      steps[states.find(rest)->second].set(byte);
    }
    grammar.AddAlternative(rule, {});
    for (const auto& [next, bytes] : steps)
      grammar.AddAlternative(rule, {grammar.Bytes(bytes), Grammar::Rule(next)});
  }
  return Grammar::Rule(states.find("")->second);
}

}  // namespace aster::grammar
