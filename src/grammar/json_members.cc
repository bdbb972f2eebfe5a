// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/json_members.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/check.h"

namespace aster::grammar {

// From the last member to the first: the possible rest after each number of members before it.
std::optional<Element> AddMembers(std::span<const Member> members, CountRange count,
                                  JsonRules& json, Grammar& grammar) {
  // If enough are written and there is no maximum, larger numbers are equivalent.
  const auto all = static_cast<uint32_t>(members.size());
  const bool is_bounded = count.maximum < all;
  const uint32_t most = is_bounded ? count.maximum : std::max(count.minimum, 1U);
  if (count.minimum > std::min(all, count.maximum)) return std::nullopt;
  const Element end = Grammar::Rule(grammar.AddRule({{json.space(), json.Char('}')}}));
  std::vector<std::optional<Element>> after(most + 1);
  for (uint32_t written = count.minimum; written <= most; ++written) after[written] = end;
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    std::vector<std::optional<Element>> from(most + 1);
    for (uint32_t written = 0; written <= most; ++written) {
      const uint32_t next = is_bounded ? written + 1 : std::min(written + 1, most);
      const bool may_write = next <= most && after[next];
      const bool may_skip = !member->is_needed && after[written];
      if (!may_write && !may_skip) continue;
      const RuleId rule = grammar.AddRule();
      if (may_write) {
        const Sequence before = written == 0 ? Sequence{json.space()}
                                             : Sequence{json.space(), json.Char(','), json.space()};
        grammar.AddAlternative(
            rule,
            Joined({before,
                    json.Name(member->name),
                    {json.space(), json.Char(':'), json.space(), member->value, *after[next]}}));
      }
      if (may_skip) grammar.AddAlternative(rule, {*after[written]});
      from[written] = Grammar::Rule(rule);
    }
    after = std::move(from);
  }
  if (!after[0]) return std::nullopt;
  return Grammar::Rule(grammar.AddRule({{json.Char('{'), *after[0]}}));
}

Result<Element> AddFreeMembers(Element name, Element value, CountRange count, JsonRules& json,
                               Grammar& grammar) {
  if (count.minimum == 0 && count.maximum == kNoMaximum) return json.Object(name, value);
  const Sequence member = {name, json.space(), json.Char(':'), json.space(), value};
  const RuleId rule = grammar.AddRule();
  if (count.minimum == 0)
    grammar.AddAlternative(rule, {json.Char('{'), json.space(), json.Char('}')});
  if (count.maximum > 0) {
    const Element rest =
        TRY(grammar.Repeat(Joined({{json.space(), json.Char(','), json.space()}, member}),
                           count.minimum == 0 ? 0 : count.minimum - 1,
                           count.maximum == kNoMaximum ? kNoMaximum : count.maximum - 1));
    grammar.AddAlternative(
        rule,
        Joined({{json.Char('{'), json.space()}, member, {rest, json.space(), json.Char('}')}}));
  }
  return Grammar::Rule(rule);
}

// A rule for each set of written items: the possible rest.
std::optional<Element> AddDifferentItems(std::span<const nlohmann::ordered_json> items,
                                         CountRange count, JsonRules& json, Grammar& grammar) {
  CHECK(items.size() <= kMaxDifferentItems);
  const auto all = static_cast<uint32_t>(items.size());
  const uint32_t most = std::min(all, count.maximum);
  if (count.minimum > most) return std::nullopt;
  const uint32_t set_count = 1U << all;
  std::vector<std::optional<Element>> after(set_count);
  // Larger sets have larger numbers: the rules that a rule needs exist already.
  for (uint32_t set = set_count; set-- > 0;) {
    const auto written = static_cast<uint32_t>(std::popcount(set));
    if (written > most) continue;
    const RuleId rule = grammar.AddRule();
    if (written >= count.minimum) grammar.AddAlternative(rule, {json.space(), json.Char(']')});
    for (uint32_t i = 0; i < all && written < most; ++i) {
      const uint32_t more = set | 1U << i;
      if (more == set) continue;
      const Sequence before = written == 0 ? Sequence{json.space()}
                                           : Sequence{json.space(), json.Char(','), json.space()};
      grammar.AddAlternative(rule, Joined({before, json.Literal(items[i]), {*after[more]}}));
    }
    after[set] = Grammar::Rule(rule);
  }
  return Grammar::Rule(grammar.AddRule({{json.Char('['), *after[0]}}));
}

}  // namespace aster::grammar
