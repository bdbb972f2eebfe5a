// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/dialect.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace aster::chat {
namespace {

// As Gemma 4 writes turns, thoughts and calls, without what it says about tools.
constexpr std::string_view kGemma = R"jinja(
{%- macro value_of(value) -%}
  {%- if value is string -%}{{ '<|"|>' ~ value ~ '<|"|>' }}{%- else -%}{{ value }}{%- endif -%}
{%- endmacro -%}
{{- bos_token -}}
{%- if tools -%}
  {{- '<|turn>system\n' -}}
  {%- for tool in tools -%}{{- '<|tool>' ~ tool.function.name ~ '<tool|>' -}}{%- endfor -%}
  {{- '<turn|>\n' -}}
{%- endif -%}
{%- for message in messages -%}
  {{- '<|turn>' ~ ('model' if message.role == 'assistant' else message.role) ~ '\n' -}}
  {%- if message.reasoning_content and message.tool_calls -%}
    {{- '<|channel>thought\n' ~ message.reasoning_content ~ '\n<channel|>' -}}
  {%- endif -%}
  {%- for call in message.tool_calls or [] -%}
    {{- '<|tool_call>call:' ~ call.function.name ~ '{' -}}
    {%- if call.function.arguments is mapping -%}
      {%- for key, value in call.function.arguments | dictsort -%}
        {{- ',' if not loop.first else '' -}}{{- key -}}:{{- value_of(value) -}}
      {%- endfor -%}
    {%- else -%}{{- call.function.arguments -}}{%- endif -%}
    {{- '}<tool_call|>' -}}
  {%- endfor -%}
  {{- message.content ~ '<turn|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|turn>model\n' -}}{%- endif -%}
)jinja";

TEST(Dialect, OfGemma4) {
  const auto chat_template = jinja::ChatTemplate::Parse(kGemma);
  ASSERT_TRUE(chat_template.ok()) << chat_template.error().message();
  const Dialect dialect = FindDialect(kGemma, *chat_template, {{"bos_token", "<bos>"}});
  EXPECT_EQ(dialect.family, Family::kGemma);
  EXPECT_TRUE(dialect.has_tools);
  EXPECT_TRUE(dialect.has_thinking);
  EXPECT_TRUE(dialect.takes_system);
  // A text would stand where its own way of writing them belongs.
  EXPECT_EQ(dialect.arguments, ArgumentsAs::kObject);
  EXPECT_FALSE(dialect.calls.has_value());
  EXPECT_EQ(dialect.think_open_tail, "\n");
  EXPECT_EQ(dialect.think_close_lead, "\n");
  EXPECT_TRUE(IsThinkingBehind(dialect, "<|turn>model\n<|channel>thought\n"));
  EXPECT_FALSE(IsThinkingBehind(dialect, "<|turn>model\n<|channel>thought\n<channel|>"));
}

}  // namespace
}  // namespace aster::chat
