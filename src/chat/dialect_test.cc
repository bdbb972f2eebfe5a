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

// As MiMo V2 writes turns, thoughts and calls: values without line breaks around them.
constexpr std::string_view kMimo = R"jinja(
{%- for tool in tools or [] -%}
  {{- '<function>\n<name>' ~ tool.function.name ~ '</name>\n</function>' -}}
{%- endfor -%}
{%- for message in messages -%}
  {{- '<|im_start|>' ~ message.role ~ '\n' -}}
  {%- if message.reasoning_content -%}
    {{- '<think>' ~ message.reasoning_content ~ '</think>' -}}
  {%- endif -%}
  {{- message.content -}}
  {%- for call in message.tool_calls or [] -%}
    {{- '<tool_call>\n<function=' ~ call.function.name ~ '>\n' -}}
    {%- for name, value in call.function.arguments | items -%}
      {{- '<parameter=' ~ name ~ '>' ~ (value if value is string else value | tojson) -}}
      {{- '</parameter>\n' -}}
    {%- endfor -%}
    {{- '</function>\n</tool_call>' -}}
  {%- endfor -%}
  {{- '<|im_end|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n' -}}{%- endif -%}
)jinja";

TEST(Dialect, OfMimo) {
  const auto chat_template = jinja::ChatTemplate::Parse(kMimo);
  ASSERT_TRUE(chat_template.ok()) << chat_template.error().message();
  const Dialect dialect = FindDialect(kMimo, *chat_template, {{"eos_token", "<|im_end|>"}});
  EXPECT_EQ(dialect.family, Family::kMimo);
  EXPECT_TRUE(dialect.has_tools);
  EXPECT_TRUE(dialect.has_thinking);
  EXPECT_EQ(dialect.arguments, ArgumentsAs::kObject);
  ASSERT_TRUE(dialect.calls.has_value());
  EXPECT_EQ(dialect.calls->open, "<tool_call>\n<function=");
  EXPECT_EQ(dialect.calls->key_open, "\n<parameter=");
  EXPECT_EQ(dialect.calls->value_open, ">");
  EXPECT_EQ(dialect.calls->close, "\n</function>\n</tool_call>");
  EXPECT_EQ(dialect.think_open_tail, "");
}

}  // namespace
}  // namespace aster::chat
