// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any text as a grammar, which then reads the same text.
#include <cstddef>
#include <cstdint>

#include "grammar/gbnf.h"
#include "grammar/matcher.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 2000) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto grammar = aster::grammar::ParseGbnf(text);
  if (!grammar.ok()) return 0;
  aster::grammar::Matcher matcher(**grammar);
  aster::grammar::StateId state = matcher.start();
  for (const char c : text.substr(0, 64)) {
    if (state == aster::grammar::kDead) break;
    state = matcher.Next(state, static_cast<uint8_t>(c));
  }
  return 0;
}
