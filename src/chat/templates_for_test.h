// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Our own templates, which write the same as published ones, without descriptions of tools.
#pragma once

#include <string_view>

namespace aster::chat {

// Gemma 4's turns, reasoning and calls, without descriptions of tools.
inline constexpr std::string_view kGemmaTemplate = R"jinja(
{%- macro value_of(value) -%}
  {%- if value is string -%}{{ '<|"|>' ~ value ~ '<|"|>' }}
  {%- elif value is boolean -%}{{ 'true' if value else 'false' }}
  {%- elif value is none -%}null
  {%- elif value is mapping -%}
    {{- '{' -}}
    {%- for key, one in value | dictsort -%}
      {{- ',' if not loop.first else '' -}}{{- key -}}:{{- value_of(one) -}}
    {%- endfor -%}
    {{- '}' -}}
  {%- elif value is sequence -%}
    {{- '[' -}}
    {%- for one in value -%}{{- ',' if not loop.first else '' -}}{{- value_of(one) -}}{%- endfor -%}
    {{- ']' -}}
  {%- else -%}{{ value }}{%- endif -%}
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

// Like that of Phi 4 mini, which takes tools as a text of the system's message.
inline constexpr std::string_view kPhiTemplate =
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] }}"
    "{% if message['tools'] %}{{ '<|tool|>' + message['tools'] + '<|/tool|>' }}{% endif %}"
    "{{ '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}";

// MiMo V2's turns, reasoning and calls: values without line breaks around them.
inline constexpr std::string_view kMimoTemplate = R"jinja(
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

// Those of Qwen3 Coder and Qwen3.5: values on lines of their own.
inline constexpr std::string_view kQwenCoderTemplate = R"jinja(
{%- for tool in tools or [] -%}
  {{- '<function>\n<name>' ~ tool.function.name ~ '</name>\n</function>' -}}
{%- endfor -%}
{%- for message in messages -%}
  {{- '<|im_start|>' ~ message.role ~ '\n' -}}
  {%- if message.role == 'assistant' -%}
    {{- '<think>\n' ~ (message.reasoning_content or '') ~ '\n</think>\n\n' -}}
  {%- endif -%}
  {{- message.content -}}
  {%- for call in message.tool_calls or [] -%}
    {{- '\n<tool_call>\n<function=' ~ call.function.name ~ '>\n' -}}
    {%- for name, value in call.function.arguments | items -%}
      {{- '<parameter=' ~ name ~ '>\n' ~ (value if value is string else value | tojson) -}}
      {{- '\n</parameter>\n' -}}
    {%- endfor -%}
    {{- '</function>\n</tool_call>' -}}
  {%- endfor -%}
  {{- '<|im_end|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n<think>\n' -}}{%- endif -%}
)jinja";

// DeepSeek V4.1's calls, with tags that are joined from parts.
inline constexpr std::string_view kSpacedDsmlTemplate = R"jinja(
{%- set dsml = '｜DSML｜' -%}
{%- for tool in tools or [] -%}{{- tool.function | tojson ~ '\n' -}}{%- endfor -%}
{%- for message in messages -%}
  {{- '<｜' ~ message.role | capitalize ~ '｜>' -}}
  {{- '<think>' ~ message.reasoning_content if message.reasoning_content else '' -}}
  {{- ('</think>' if message.role == 'assistant' else '') ~ message.content -}}
  {%- if message.tool_calls -%}
    {{- '\n\n<' ~ dsml ~ ' calls>\n' -}}
    {%- for call in message.tool_calls -%}
      {{- '<' ~ dsml ~ ' invoke name="' ~ call.function.name ~ '">\n' -}}
      {%- for name, value in call.function.arguments | items -%}
        {{- '<' ~ dsml ~ ' parameter name="' ~ name ~ '" string="' -}}
        {{- 'true">' ~ value if value is string else 'false">' ~ (value | tojson) -}}
        {{- '</' ~ dsml ~ ' parameter>\n' -}}
      {%- endfor -%}
      {{- '</' ~ dsml ~ ' invoke>\n' -}}
    {%- endfor -%}
    {{- '</' ~ dsml ~ ' calls>' -}}
  {%- endif -%}
  {{- eos_token if message.role == 'assistant' else '' -}}
{%- endfor -%}
{{- '<｜Assistant｜></think>' if add_generation_prompt else '' -}}
)jinja";

// DeepSeek V3.1's turns, calls and results, without tools.
inline constexpr std::string_view kDeepSeek31Template = R"jinja(
{%- set state = namespace(system='', asked=false) -%}
{%- for message in messages if message.role == 'system' -%}
  {%- set state.system = state.system ~ ('' if loop.first else '\n\n') ~ message.content -%}
{%- endfor -%}
{{- bos_token ~ state.system -}}
{%- for message in messages if message.role != 'system' -%}
  {%- if message.role == 'user' -%}
    {{- '<｜User｜>' ~ message.content -}}
    {%- set state.asked = true -%}
  {%- elif message.role == 'tool' -%}
    {{- '<｜tool▁output▁begin｜>' ~ message.content ~ '<｜tool▁output▁end｜>' -}}
    {%- set state.asked = false -%}
  {%- else -%}
    {{- '<｜Assistant｜></think>' if state.asked else '' -}}
    {%- set state.asked = false -%}
    {{- message.content -}}
    {%- for call in message.tool_calls or [] -%}
      {{- '<｜tool▁calls▁begin｜>' if loop.first else '' -}}
      {{- '<｜tool▁call▁begin｜>' ~ call.function.name ~ '<｜tool▁sep｜>' -}}
      {{- call.function.arguments if call.function.arguments is string -}}
      {{- call.function.arguments | tojson if call.function.arguments is not string -}}
      {{- '<｜tool▁call▁end｜>' ~ ('<｜tool▁calls▁end｜>' if loop.last else '') -}}
    {%- endfor -%}
    {{- '<｜end▁of▁sentence｜>' -}}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt and state.asked -%}
  {{- '<｜Assistant｜>' ~ ('<think>' if thinking else '</think>') -}}
{%- endif -%}
)jinja";

// Those of Mistral Small 3.2: with ids, which must have nine characters.
inline constexpr std::string_view kMistralIdsTemplate = R"jinja(
{%- macro checked(id) -%}
  {%- if id is not string or id | length != 9 -%}
    {{- raise_exception('ids have nine letters or digits') -}}
  {%- endif -%}
  {{- id -}}
{%- endmacro -%}
{{- bos_token -}}
{%- for message in messages -%}
  {%- if message.role == 'system' -%}
    {{- '[SYSTEM_PROMPT]' ~ message.content ~ '[/SYSTEM_PROMPT]' -}}
  {%- elif message.role == 'user' -%}
    {%- if tools -%}{{- '[AVAILABLE_TOOLS]' ~ (tools | tojson) ~ '[/AVAILABLE_TOOLS]' -}}
    {%- endif -%}
    {{- '[INST]' ~ message.content ~ '[/INST]' -}}
  {%- elif message.role == 'assistant' -%}
    {%- for call in message.tool_calls or [] -%}
      {{- '[TOOL_CALLS]' ~ call.function.name ~ '[CALL_ID]' ~ checked(call.id) -}}
      {{- '[ARGS]' ~ (call.function.arguments | tojson) -}}
    {%- else -%}{{- message.content -}}{%- endfor -%}
    {{- eos_token -}}
  {%- elif message.role == 'tool' -%}
    {{- '[TOOL_RESULTS]' ~ checked(message.tool_call_id) ~ '[TOOL_CONTENT]' ~ message.content -}}
    {{- '[/TOOL_RESULTS]' -}}
  {%- endif -%}
{%- endfor -%}
)jinja";

// Mistral 3's turns, tools and calls.
inline constexpr std::string_view kMistral3Template = R"jinja(
{{- bos_token -}}
{%- if messages[0].role == 'system' -%}
  {{- '[SYSTEM_PROMPT]' ~ messages[0].content ~ '[/SYSTEM_PROMPT]' -}}
{%- endif -%}
{%- if tools -%}{{- '[AVAILABLE_TOOLS]' ~ (tools | tojson) ~ '[/AVAILABLE_TOOLS]' -}}{%- endif -%}
{%- for message in messages -%}
  {%- if message.role == 'user' -%}
    {{- '[INST]' ~ message.content ~ '[/INST]' -}}
  {%- elif message.role == 'assistant' -%}
    {{- message.content -}}
    {%- for call in message.tool_calls or [] -%}
      {%- set arguments = call.function.arguments -%}
      {{- '[TOOL_CALLS]' ~ call.function.name ~ '[ARGS]' -}}
      {{- arguments if arguments is string else arguments | tojson -}}
    {%- endfor -%}
    {{- eos_token -}}
  {%- elif message.role == 'tool' -%}
    {{- '[TOOL_RESULTS]' ~ message.content ~ '[/TOOL_RESULTS]' -}}
  {%- endif -%}
{%- endfor -%}
)jinja";

}  // namespace aster::chat
