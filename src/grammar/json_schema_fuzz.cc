// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any JSON as a schema. A text of the grammar, if one is found, is JSON.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/check.h"
#include "grammar/json_schema.h"
#include "grammar/matcher.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using aster::grammar::kDead;
  if (size > 2000) return 0;
  const auto schema =
      nlohmann::ordered_json::parse(data, data + size, nullptr, /*allow_exceptions=*/false);
  if (schema.is_discarded()) return 0;
  const auto grammar = aster::grammar::JsonSchemaGrammar(schema);
  if (!grammar.ok()) return 0;
  aster::grammar::Matcher matcher(**grammar);
  aster::grammar::StateId state = matcher.start();
  std::string text;
  for (size_t i = 0; i < 200 && state != kDead && !matcher.CanEnd(state); ++i) {
    // The schema's own bytes choose the text.
    const uint8_t first = size == 0 ? 0 : data[i % size];
    aster::grammar::StateId next = kDead;
    uint8_t byte = first;
    for (int j = 0; j < 256 && next == kDead; ++j) {
      byte = static_cast<uint8_t>(first + j);
      next = matcher.Next(state, byte);
    }
    state = next;
    text += static_cast<char>(byte);
  }
  if (state != kDead && matcher.CanEnd(state)) CHECK(nlohmann::json::accept(text));
  return 0;
}
