// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any template is refused, or rendered within its limits, or fails with an error; twice the same.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/check.h"
#include "jinja/template.h"

namespace {

const nlohmann::ordered_json& Variables() {
  static const nlohmann::ordered_json variables = nlohmann::ordered_json::parse(R"({
    "messages": [{"role": "system", "content": "Be kind."},
                 {"role": "user", "content": "What is 2 + 2?"},
                 {"role": "assistant", "content": null, "tool_calls": [
                   {"type": "function", "id": "a1",
                    "function": {"name": "add", "arguments": {"a": 2, "b": 2.5}}}]},
                 {"role": "tool", "content": "4", "tool_call_id": "a1"}],
    "tools": [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}],
    "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>",
    "nested": [[1, [2, "é"]], {"x": {}}]})");
  return variables;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = aster::jinja::ChatTemplate::Parse(aster::AsText({data, size}));
  if (!parsed.ok()) {
    CHECK(!parsed.error().message().empty());
    return 0;
  }
  aster::jinja::RenderOptions options;
  options.now_unix_s = 1'800'000'000;
  options.limits = {.max_output_bytes = 1 << 16,
                    .max_memory_bytes = 1 << 20,
                    .max_steps = 20'000,
                    .max_depth = 100};
  const auto first = parsed->Render(Variables(), options);
  const auto second = parsed->Render(Variables(), options);
  CHECK(first.ok() == second.ok());
  if (first.ok()) {
    CHECK(first->size() <= options.limits.max_output_bytes && *first == *second);
  } else {
    CHECK(first.error().message() == second.error().message());
  }
  return 0;
}
