// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/fallback.h"

#include "jinja/fallback_deepseek.h"

namespace aster::jinja {
namespace {

// Messages in channels. Tools are declared as types of TypeScript; schemas that this template
// cannot express are `any`. A message with calls keeps its reasoning until an answer follows it.
constexpr std::string_view kGptOss = R"jinja(
{%- macro type_of(schema) -%}
  {%- if schema.enum is defined and schema.enum -%}
    {%- for value in schema.enum -%}
      {{- (' | ' if not loop.first else '') ~ (value | tojson) -}}
    {%- endfor -%}
  {%- elif schema.type == 'string' or schema.type == 'boolean' -%}{{- schema.type -}}
  {%- elif schema.type == 'number' or schema.type == 'integer' -%}{{- 'number' -}}
  {%- elif schema.type == 'array' and schema['items'] is defined -%}
    {{- type_of(schema['items']) ~ '[]' -}}
  {%- elif schema.type == 'object' and schema.properties is defined and schema.properties -%}
    {{- '{\n' -}}{{- members_of(schema) -}}{{- '}' -}}
  {%- else -%}{{- 'any' -}}{%- endif -%}
{%- endmacro -%}
{%- macro members_of(schema) -%}
  {%- for name, member in schema.properties.items() -%}
    {%- if member.description is defined and member.description -%}
      {{- '// ' ~ member.description ~ '\n' -}}
    {%- endif -%}
    {{- name ~ ('' if name in (schema.required or []) else '?') ~ ': ' ~ type_of(member) -}}
    {%- if member.default is defined -%}{{- ', // default: ' ~ (member.default | tojson) -}}
    {%- else -%}{{- ',' -}}{%- endif -%}
    {{- '\n' -}}
  {%- endfor -%}
{%- endmacro -%}
{%- set effort = reasoning_effort if reasoning_effort is defined else 'medium' -%}
{%- set has_tools = tools is defined and tools -%}
{%- set state = namespace(instructions='', answered=-1, name='') -%}
{%- for message in messages -%}
  {%- if message.role == 'system' or message.role == 'developer' -%}
    {%- set gap = '\n\n' if state.instructions else '' -%}
    {%- set state.instructions = state.instructions ~ gap ~ message.content -%}
  {%- elif message.role == 'assistant' and not message.tool_calls -%}
    {%- set state.answered = loop.index0 -%}
  {%- endif -%}
{%- endfor -%}
{{- '<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n' ~
    'Knowledge cutoff: 2024-06\nCurrent date: ' ~ strftime_now('%Y-%m-%d') ~
    '\n\nReasoning: ' ~ effort ~ '\n\n# Valid channels: analysis, commentary, final. ' ~
    'Channel must be included for every message.' -}}
{{- '\nCalls to these tools must go to the commentary channel: \'functions\'.'
    if has_tools else '' -}}
{{- '<|end|>' -}}
{%- if state.instructions or has_tools -%}
  {{- '<|start|>developer<|message|>' -}}
  {%- if state.instructions -%}
    {{- '# Instructions\n\n' ~ state.instructions ~ '\n\n' -}}
  {%- endif -%}
  {%- if has_tools -%}
    {{- '# Tools\n\n## functions\n\nnamespace functions {\n\n' -}}
    {%- for tool in tools -%}
      {%- set function = tool.function or tool -%}
      {%- if function.description is defined and function.description -%}
        {{- '// ' ~ function.description ~ '\n' -}}
      {%- endif -%}
      {%- set has_members = function.parameters and function.parameters.properties -%}
      {{- 'type ' ~ function.name ~ ' = ' -}}
      {%- if has_members -%}
        {{- '(_: {\n' ~ members_of(function.parameters) ~ '}) => any;\n\n' -}}
      {%- else -%}{{- '() => any;\n\n' -}}{%- endif -%}
    {%- endfor -%}
    {{- '} // namespace functions' -}}
  {%- endif -%}
  {{- '<|end|>' -}}
{%- endif -%}
{%- for message in messages -%}
  {%- if message.role == 'user' -%}
    {{- '<|start|>user<|message|>' ~ message.content ~ '<|end|>' -}}
  {%- elif message.role == 'tool' -%}
    {{- '<|start|>functions.' ~ state.name ~ ' to=assistant<|channel|>commentary<|message|>' -}}
    {{- (message.content | tojson) ~ '<|end|>' -}}
  {%- elif message.role == 'assistant' and message.tool_calls -%}
    {%- set thought = message.thinking or message.reasoning_content or message.content -%}
    {%- if thought and loop.index0 > state.answered -%}
      {{- '<|start|>assistant<|channel|>analysis<|message|>' ~ thought ~ '<|end|>' -}}
    {%- endif -%}
    {%- for call in message.tool_calls -%}
      {%- set function = call.function or call -%}
      {%- set state.name = function.name -%}
      {{- '<|start|>assistant to=functions.' ~ function.name -}}
      {{- '<|channel|>commentary json<|message|>' -}}
      {{- (function.arguments | tojson) ~ '<|call|>' -}}
    {%- endfor -%}
  {%- elif message.role == 'assistant' -%}
    {{- '<|start|>assistant<|channel|>final<|message|>' ~ message.content ~ '<|end|>' -}}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt is defined and add_generation_prompt -%}
{{- '<|start|>assistant' -}}
{%- endif -%}
)jinja";

// Turns of two roles: everything except the model's own output belongs to the user, including the
// system's text and tools' results. The family has no tokens for calls; users ask for JSON, as
// here.
constexpr std::string_view kGemma3 = R"jinja(
{%- macro text_of(content) -%}
  {%- if content is string -%}{{ content }}
  {%- elif content -%}
    {%- for part in content if part.type == 'text' -%}{{ part.text }}{%- endfor -%}
  {%- endif -%}
{%- endmacro -%}
{%- set state = namespace(in_turn=false) -%}
{{- bos_token if bos_token is defined else '' -}}
{%- if tools is defined and tools -%}
  {{- '<start_of_turn>user\nYou can call these functions, one JSON object a line:\n' -}}
  {%- for tool in tools -%}{{ (tool.function or tool) | tojson }}{{ '\n' }}{%- endfor -%}
  {{- 'To call one, reply with nothing but {"name": function name, "parameters": object with ' ~
      'its arguments}. Where no function helps, reply in words.' -}}
  {%- set state.in_turn = true -%}
{%- endif -%}
{%- for message in messages -%}
  {%- if message.role == 'assistant' -%}
    {{- '<end_of_turn>\n' if state.in_turn else '' -}}
    {%- set state.in_turn = false -%}
    {{- '<start_of_turn>model\n' ~ text_of(message.content) -}}
    {%- for call in message.tool_calls or [] -%}
      {%- set function = call.function or call -%}
      {{- '; ' if not loop.first else ('\n' if message.content else '') -}}
      {{- '{"name": ' ~ (function.name | tojson) ~ ', "parameters": ' -}}
      {{- function.arguments if function.arguments is string else function.arguments | tojson -}}
      {{- '}' -}}
    {%- endfor -%}
    {{- '<end_of_turn>\n' -}}
  {%- else -%}
    {{- '\n\n' if state.in_turn else '<start_of_turn>user\n' -}}
    {{- 'Result: ' if message.role == 'tool' else '' -}}
    {{- text_of(message.content) -}}
    {%- set state.in_turn = true -%}
  {%- endif -%}
{%- endfor -%}
{{- '<end_of_turn>\n' if state.in_turn else '' -}}
{%- if add_generation_prompt is defined and add_generation_prompt -%}
{{- '<start_of_turn>model\n' -}}
{%- endif -%}
)jinja";

// Turns of five roles between marks of their own; the family thinks before every answer, and its
// calls have a tag for each argument. Reasoning is only kept after the last question.
constexpr std::string_view kMiniMax = R"jinja(
{%- macro text_of(content) -%}
  {%- if content is string -%}{{ content }}
  {%- elif content -%}
    {%- for part in content if part.type == 'text' -%}{{ part.text }}{%- endfor -%}
  {%- endif -%}
{%- endmacro -%}
{%- set begins_with_system = messages and messages[0].role == 'system' -%}
{%- set state = namespace(last_question=-1, in_results=false) -%}
{%- for message in messages -%}
  {%- if message.role == 'user' -%}{%- set state.last_question = loop.index0 -%}{%- endif -%}
{%- endfor -%}
{{- ']~!b[]~b]system\n' -}}
{{- text_of(messages[0].content) if begins_with_system else 'You are a helpful assistant.' -}}
{%- if tools is defined and tools -%}
  {{- '\n\n# Tools\nThese tools can be called; each is given as JSON with a schema of its ' ~
      'parameters:\n<tools>\n' -}}
  {%- for tool in tools -%}
    {{- '<tool>' ~ ((tool.function or tool) | tojson) ~ '</tool>\n' -}}
  {%- endfor -%}
  {{- '</tools>\n\nCall one or several in this form, a tag for each parameter:\n' ~
      '<minimax:tool_call>\n<invoke name="NAME OF THE TOOL">\n' ~
      '<parameter name="NAME OF A PARAMETER">its value</parameter>\n</invoke>\n' ~
      '</minimax:tool_call>' -}}
{%- endif -%}
{{- '[e~[\n' -}}
{%- for message in messages -%}
  {%- if state.in_results and message.role != 'tool' -%}
    {{- '[e~[\n' -}}
    {%- set state.in_results = false -%}
  {%- endif -%}
  {%- if message.role == 'assistant' -%}
    {{- ']~b]ai\n' -}}
    {%- if loop.index0 > state.last_question -%}
      {{- '<think>\n' ~ (message.reasoning_content or '') ~ '\n</think>\n\n' -}}
    {%- endif -%}
    {{- text_of(message.content) -}}
    {%- if message.tool_calls -%}
      {{- '\n<minimax:tool_call>\n' -}}
      {%- for call in message.tool_calls -%}
        {%- set function = call.function or call -%}
        {{- '<invoke name="' ~ function.name ~ '">\n' -}}
        {%- for key, value in function.arguments.items() -%}
          {{- '<parameter name="' ~ key ~ '">' -}}
          {{- (value if value is string else value | tojson) ~ '</parameter>\n' -}}
        {%- endfor -%}
        {{- '</invoke>\n' -}}
      {%- endfor -%}
      {{- '</minimax:tool_call>' -}}
    {%- endif -%}
    {{- '[e~[\n' -}}
  {%- elif message.role == 'tool' -%}
    {{- '\n' if state.in_results else ']~b]tool\n' -}}
    {%- set state.in_results = true -%}
    {{- '<response>' ~ text_of(message.content) ~ '</response>' -}}
  {%- elif not (loop.first and begins_with_system) -%}
    {{- ']~b]' ~ ('system' if message.role == 'system' else 'user') ~ '\n' -}}
    {{- text_of(message.content) ~ '[e~[\n' -}}
  {%- endif -%}
{%- endfor -%}
{{- '[e~[\n' if state.in_results else '' -}}
{%- if add_generation_prompt is defined and add_generation_prompt -%}
{{- ']~b]ai\n<think>\n' -}}
{%- endif -%}
)jinja";

// Like the template of Phi 4 mini, which takes tools as a text in the system's message and has no
// calls: these are written as in training.
constexpr std::string_view kPhi4Mini = R"jinja(
{%- macro text_of(content) -%}
  {%- if content is string -%}{{ content }}
  {%- elif content -%}
    {%- for part in content if part.type == 'text' -%}{{ part.text }}{%- endfor -%}
  {%- endif -%}
{%- endmacro -%}
{%- macro all_tools() -%}
  {%- if tools is defined and tools -%}
    {{- '<|tool|>[' -}}
    {%- for tool in tools -%}
      {{- ', ' if not loop.first else '' -}}{{- (tool.function or tool) | tojson -}}
    {%- endfor -%}
    {{- ']<|/tool|>' -}}
  {%- endif -%}
{%- endmacro -%}
{%- set has_system = messages and messages[0].role == 'system' -%}
{%- if tools is defined and tools and not has_system -%}
  {{- '<|system|>You are a helpful assistant with some tools.' ~ all_tools() ~ '<|end|>' -}}
{%- endif -%}
{%- for message in messages -%}
  {{- '<|' ~ message.role ~ '|>' ~ text_of(message.content) -}}
  {{- all_tools() if loop.first and has_system else '' -}}
  {%- for call in message.tool_calls or [] -%}
    {%- set function = call.function or call -%}
    {{- '<|tool_call|>[' if loop.first else ', ' -}}
    {{- '{"name": ' ~ (function.name | tojson) ~ ', "arguments": ' -}}
    {{- function.arguments if function.arguments is string else function.arguments | tojson -}}
    {{- '}' ~ (']<|/tool_call|>' if loop.last else '') -}}
  {%- endfor -%}
  {{- '<|end|>' -}}
{%- endfor -%}
{%- if add_generation_prompt is defined and add_generation_prompt -%}
{{- '<|assistant|>' -}}
{%- else -%}{{- eos_token if eos_token is defined else '' -}}{%- endif -%}
)jinja";

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool IsPhi4Mini(std::string_view architecture, std::string_view source) {
  return architecture == "phi3" && Has(source, "<|tool|>") && Has(source, "message['tools']") &&
         !Has(source, "tool_calls");
}

// Whether the template has calls, but no tools. Templates of V3 and R1 write calls in fences: it is
// not published how these models expect tools to be described.
bool IsDeepSeek31(std::string_view architecture, std::string_view source) {
  return (architecture == "deepseek2" || architecture == "deepseek32") &&
         Has(source, "<｜tool▁sep｜>") && Has(source, "tool_calls") && !Has(source, "tools") &&
         !Has(source, "```json");
}

}  // namespace

std::string ReplacementTemplate(std::string_view architecture, std::string_view source) {
  if (IsPhi4Mini(architecture, source)) return std::string(kPhi4Mini);
  if (IsDeepSeek31(architecture, source)) return std::string(DeepSeek31Tools()).append(source);
  return "";
}

std::string_view FallbackTemplate(std::string_view architecture) {
  if (architecture == "minimax-m2") return kMiniMax;
  if (architecture == "gpt-oss") return kGptOss;
  if (architecture == "gemma2" || architecture == "gemma3") return kGemma3;
  if (architecture == "deepseek32") return DeepSeek32Template();
  if (architecture == "deepseek4") return DeepSeek4Template();
  if (architecture == "deepseek41") return DeepSeek41Template();
  return "";
}

}  // namespace aster::jinja
