// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any JSON as a schema.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "grammar/json_schema.h"
#include "grammar/matcher.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 2000) return 0;
  const auto schema =
      nlohmann::ordered_json::parse(data, data + size, nullptr, /*allow_exceptions=*/false);
  if (schema.is_discarded()) return 0;
  const auto grammar = aster::grammar::JsonSchemaGrammar(schema);
  if (!grammar.ok()) return 0;
  aster::grammar::Matcher matcher(**grammar);
  matcher.Next(matcher.start(), '{');
  return 0;
}
