// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any bytes as a pattern: accepted ones give a grammar in which every place can reach an end.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "grammar/matcher.h"
#include "grammar/pattern.h"

namespace {

using aster::grammar::kDead;
using aster::grammar::Matcher;
using aster::grammar::StateId;

// Follows the first allowed byte, in the order that `bytes` suggests.
void Walk(Matcher& matcher, std::string_view bytes) {
  StateId state = matcher.start();
  CHECK(state != kDead || matcher.has_failed());
  for (const char suggested : bytes) {
    StateId next = kDead;
    for (int i = 0; i < 256 && next == kDead; ++i)
      next = matcher.Next(state, static_cast<uint8_t>(static_cast<uint8_t>(suggested) + i));
    if (matcher.has_failed()) return;  // too many ways to read it
    CHECK(next != kDead || matcher.CanEnd(state));
    if (next == kDead) return;
    state = next;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > 300) return 0;
  aster::grammar::LengthRange length;
  if ((data[0] & 1) != 0) length.minimum = data[0] / 16;
  if ((data[0] & 2) != 0) length.maximum = length.minimum + data[1] / 16;
  const std::string_view pattern(reinterpret_cast<const char*>(data) + 2, size - 2);
  aster::grammar::Grammar grammar;
  const aster::grammar::RuleId root = grammar.AddRule();
  const auto added = aster::grammar::AddPattern(pattern, length, grammar);
  if (!added.ok()) return 0;
  grammar.AddAlternative(root, {*added});
  if (!grammar.Finish().ok()) return 0;
  Matcher matcher(grammar);
  Walk(matcher, pattern.substr(0, 40));
  return 0;
}
