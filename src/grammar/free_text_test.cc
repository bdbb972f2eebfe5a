// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/free_text.h"

#include <gtest/gtest.h>

#include <array>

#include "base/random.h"
#include "grammar/matcher.h"

namespace aster::grammar {
namespace {

TEST(FreeText, SaysAnythingButTheMarks) {
  const std::array<std::string, 3> marks = {"aab", "aac", "bb"};
  Grammar grammar;
  const RuleId root = grammar.AddRule();
  ByteSet without;
  without.set('d');
  grammar.AddAlternative(root, {TextWithout(marks, without, grammar)});
  ASSERT_TRUE(grammar.Finish().ok());
  Matcher matcher(grammar);
  Random random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    bool is_free = true;
    StateId state = matcher.start();
    for (uint64_t left = random.NextBelow(10); left > 0; --left) {
      text += "abcde\xff"[random.NextBelow(6)];
      state = matcher.Next(state, static_cast<uint8_t>(text.back()));
      is_free = is_free && text.back() != 'd';
      for (const std::string& mark : marks) is_free = is_free && !text.ends_with(mark);
      EXPECT_EQ(matcher.CanEnd(state), is_free) << text;
    }
  }
}

// However long it is, it has few states.
TEST(FreeText, LongTextsHaveFewStates) {
  Grammar grammar;
  const RuleId root = grammar.AddRule();
  const std::array<std::string, 1> marks = {"<tool_call>"};
  Sequence sequence = {TextWithout(marks, {}, grammar)};
  for (const Element& element : grammar.Literal("<tool_call>")) sequence.push_back(element);
  grammar.AddAlternative(root, sequence);
  ASSERT_TRUE(grammar.Finish().ok());
  Matcher matcher(grammar);
  StateId state = matcher.start();
  for (int i = 0; i < 100'000; ++i)
    state = matcher.Next(state, static_cast<uint8_t>("<tool"[i % 5]));
  EXPECT_LT(matcher.state_count(), 40U);
  EXPECT_FALSE(matcher.has_failed());
}

}  // namespace
}  // namespace aster::grammar
