// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/fallback_deepseek.h"

#include <string>

namespace aster::jinja {
namespace {

// The beginning of tags, the name of a block of calls, and the text of a call without arguments.
constexpr std::string_view kTags32 = R"jinja(
{%- set mark = '｜DSML｜' -%}{%- set block = 'function_calls' -%}{%- set no_arguments = '\n' -%}
)jinja";
constexpr std::string_view kTags4 = R"jinja(
{%- set mark = '｜DSML｜' -%}{%- set block = 'tool_calls' -%}{%- set no_arguments = '' -%}
)jinja";
constexpr std::string_view kTags41 = R"jinja(
{%- set mark = '｜DSML｜ ' -%}{%- set block = 'calls' -%}{%- set no_arguments = '\n' -%}
)jinja";

// Common to all.
constexpr std::string_view kDeepSeekParts = R"jinja(
{%- macro text_of(content) -%}
  {%- if content is string -%}{{ content }}
  {%- elif content -%}
    {%- for part in content if part.type == 'text' -%}{{ part.text }}{%- endfor -%}
  {%- endif -%}
{%- endmacro -%}
{%- macro all_calls(calls) -%}
  {{- '\n\n<' ~ mark ~ block ~ '>\n' -}}
  {%- for call in calls -%}
    {%- set function = call.function or call -%}
    {{- '<' ~ mark ~ 'invoke name="' ~ function.name ~ '">\n' -}}
    {%- for name, value in (function.arguments or {}).items() -%}
      {%- set is_text = 'true' if value is string else 'false' -%}
      {{- '<' ~ mark ~ 'parameter name="' ~ name ~ '" string="' ~ is_text ~ '">' -}}
      {{- value if value is string else value | tojson -}}
      {{- '</' ~ mark ~ 'parameter>\n' -}}
    {%- else -%}{{- no_arguments -}}{%- endfor -%}
    {{- '</' ~ mark ~ 'invoke>\n' -}}
  {%- endfor -%}
  {{- '</' ~ mark ~ block ~ '>' -}}
{%- endmacro -%}
{%- set thinking = (thinking is defined and thinking)
    or (enable_thinking is defined and enable_thinking) -%}
{%- set has_tools = tools is defined and tools -%}
{%- set has_format = response_format is defined and response_format -%}
{%- set format = '\n\n## Response Format:\n\n' ~
    'You MUST strictly adhere to the following schema to reply:\n' ~
    (response_format | tojson) if has_format else '' -%}
{%- set state = namespace(last=-1, system='', in_turn=false, keeps=has_tools, calls=[]) -%}
{%- set generates = add_generation_prompt is defined and add_generation_prompt -%}
)jinja";

// Common to V4 and V4.1. The words for tools are those of the models' training.
constexpr std::string_view kDeepSeek4Parts = R"jinja(
{%- macro all_tools() -%}
{{- '## Tools\n\nYou have access to a set of tools to help answer the user\'s ' ~
    'question. You can invoke tools by writing a "<' ~ mark ~ block ~ '>" block like ' ~
    'the following:\n\n<' ~ mark ~ block ~ '>\n<' ~ mark ~ 'invoke name="$TOOL_NAME">\n' ~
    '<' ~ mark ~ 'parameter name="$PARAMETER_NAME" ' ~
    'string="true|false">$PARAMETER_VALUE</' ~ mark ~ 'parameter>\n...\n</' ~ mark ~
    'invoke>\n<' ~ mark ~ 'invoke name="$TOOL_NAME2">\n...\n</' ~ mark ~ 'invoke>\n' ~
    '</' ~ mark ~ block ~ '>\n' ~
    '\nString parameters should be specified as is and set `string="true"`. For all' ~
    ' other types (numbers, booleans, arrays, objects), pass the value in JSON ' ~
    'format and set `string="false"`.\n\nIf thinking_mode is enabled (triggered by ' ~
    '<think>), you MUST output your complete reasoning inside <think>...</think> ' ~
    'BEFORE any tool calls or final response.\n\nOtherwise, output directly after ' ~
    '</think> with tool calls or final response.\n\n### Available Tool Schemas\n\n' -}}
  {%- for tool in tools -%}{{ (tool.function or tool) | tojson }}{{ '\n' }}{%- endfor -%}
{{- '\nYou MUST strictly follow the above defined tool name and parameter schemas ' ~
    'to invoke tool calls.\n' -}}
{%- endmacro -%}
{#- The results that the messages begin with, by the order of their calls. -#}
{%- macro first_results(messages, calls) -%}
  {%- set run = namespace(rows=[], open=true) -%}
  {%- for message in messages -%}
    {%- if message.role != 'tool' -%}{%- set run.open = false -%}{%- endif -%}
    {%- if run.open -%}{%- set run.rows = run.rows + [message] -%}{%- endif -%}
  {%- endfor -%}
  {%- set sorted = namespace(rows=[]) -%}
  {%- for call in calls -%}
    {%- for message in run.rows if call.id and message.tool_call_id == call.id -%}
      {%- set sorted.rows = sorted.rows + [message] -%}
    {%- endfor -%}
  {%- endfor -%}
  {%- set is_sorted = sorted.rows | length == run.rows | length -%}
  {%- for message in (sorted.rows if is_sorted else run.rows) -%}
    {{- '\n\n' if not loop.first else '' -}}
    {{- '<tool_result>' ~ text_of(message.content) ~ '</tool_result>' -}}
  {%- endfor -%}
{%- endmacro -%}
)jinja";

// Answers and results of calls have no token of their own: the end of a question opens the answer,
// and so do results. This comes after the system's text in between. Reasoning is only kept after
// the last question.
constexpr std::string_view kDeepSeek32 = R"jinja(
{%- macro all_tools() -%}
{{- '## Tools\n\nYou have access to a set of tools you can use to answer the user\'s ' ~
    'question.\nYou can invoke functions by writing a "<' ~ mark ~ block ~ '>" block like the ' ~
    'following as part of your reply to the user:\n<' ~ mark ~ block ~ '>\n<' ~ mark ~
    'invoke name="$FUNCTION_NAME">\n<' ~ mark ~ 'parameter name="$PARAMETER_NAME" ' ~
    'string="true|false">$PARAMETER_VALUE</' ~ mark ~ 'parameter>\n...\n</' ~ mark ~
    'invoke>\n<' ~ mark ~ 'invoke name="$FUNCTION_NAME2">\n...\n</' ~ mark ~ 'invoke>\n</' ~
    mark ~ block ~ '>\n\nString and scalar parameters should be specified as is without any ' ~
    'escaping or quotes, while lists and objects should use JSON format. The "string" ' ~
    'attribute should be set to "true" for string type parameters and "false" for other types ' ~
    '(numbers, booleans, arrays, objects).\n\nIf the thinking_mode is enabled, then after ' ~
    'function results you should strongly consider outputting a thinking block. Here is an ' ~
    'example:\n\n<' ~ mark ~ block ~ '>\n...\n</' ~ mark ~ block ~ '>\n\n<function_results>\n' ~
    '...\n</function_results>\n\n<think>...thinking about results</think>\n\nHere are the ' ~
    'functions available in JSONSchema format:\n<functions>\n' -}}
  {%- for tool in tools -%}{{ (tool.function or tool) | tojson }}{{ '\n' }}{%- endfor -%}
{{- '</functions>\n' -}}
{%- endmacro -%}
{%- set has_system = messages and messages[0].role == 'system' -%}
{%- set turn = namespace(opens='') -%}
{%- for message in messages -%}
  {%- if message.role not in ['system', 'assistant', 'tool'] -%}
    {%- set state.last = loop.index0 -%}
  {%- endif -%}
{%- endfor -%}
{{- bos_token if bos_token is defined else '' -}}
{{- text_of(messages[0].content) if has_system else '' -}}
{{- '\n\n' ~ all_tools() if has_tools else '' -}}
{{- format -}}
{%- for message in messages -%}
  {%- set mode = '<think>' if thinking and loop.index0 >= state.last else '</think>' -%}
  {%- if message.role == 'system' -%}{{- text_of(message.content) if not loop.first else '' -}}
  {%- else -%}{{- turn.opens -}}{%- set turn.opens = '' -%}{%- endif -%}
  {%- if message.role == 'assistant' -%}
    {%- if thinking and loop.index0 > state.last -%}
      {{- (message.reasoning_content or '') ~ '</think>' -}}
    {%- endif -%}
    {{- text_of(message.content) -}}
    {%- if message.tool_calls is defined and message.tool_calls -%}
      {{- all_calls(message.tool_calls) -}}
    {%- endif -%}
    {{- '<｜end▁of▁sentence｜>' -}}
  {%- elif message.role == 'tool' -%}
    {%- set is_first = loop.first or messages[loop.index0 - 1].role != 'tool' -%}
    {%- set is_last = loop.last or messages[loop.index0 + 1].role != 'tool' -%}
    {{- '\n\n<function_results>' if is_first else '' -}}
    {{- '\n<result>' ~ text_of(message.content) ~ '</result>' -}}
    {{- '\n</function_results>' if is_last else '' -}}
    {%- set turn.opens = '\n\n' ~ mode if is_last else '' -%}
  {%- elif message.role != 'system' -%}
    {{- '<｜User｜>' ~ text_of(message.content) -}}
    {%- set turn.opens = '<｜Assistant｜>' ~ mode -%}
  {%- endif -%}
{%- endfor -%}
{%- set opening = '<｜Assistant｜>' ~ ('<think>' if thinking else '</think>') -%}
{{- (turn.opens or opening) if generates else '' -}}
)jinja";

// Turns have no line breaks between them. Everything that users and tools say until the next answer
// is one turn, with results in the order of their calls. Reasoning before the last question is
// dropped, unless there are tools. The words for efforts are those of the model's training.
constexpr std::string_view kDeepSeek4 = R"jinja(
{%- set effort = reasoning_effort if reasoning_effort is defined else '' -%}
{%- set refreshed = effort_table is defined and effort_table == '0731' -%}
{%- for message in messages -%}
  {%- if message.role == 'system' -%}
    {%- set text = text_of(message.content) -%}
    {%- set state.system = state.system ~ ('\n\n' if state.system else '') ~ text -%}
  {%- elif message.role != 'assistant' -%}
    {%- set state.last = loop.index0 -%}
    {%- if message.role == 'tool' -%}{%- set state.keeps = true -%}{%- endif -%}
  {%- endif -%}
{%- endfor -%}
{{- bos_token if bos_token is defined else '' -}}
{%- if thinking and effort == ('high' if refreshed else 'max') -%}
{{- 'Reasoning Effort: Absolute maximum with no shortcuts permitted.\nYou MUST be ' ~
    'very thorough in your thinking and comprehensively decompose the problem to ' ~
    'resolve the root cause, rigorously stress-testing your logic against all ' ~
    'potential paths, edge cases, and adversarial scenarios.\nExplicitly write out ' ~
    'your entire deliberation process, documenting every intermediate step, ' ~
    'considered alternative, and rejected hypothesis to ensure absolutely no ' ~
    'assumption is left unchecked.\n\n' -}}
{%- elif thinking and refreshed and effort == 'max' -%}
{{- 'Reasoning Effort: Beyond maximum — exhaustive, relentless, and uncompromising.' ~
    '\nYou MUST reason with the utmost depth and rigor, leaving absolutely nothing ' ~
    'to chance: exhaustively decompose the problem into its most fundamental ' ~
    'components, trace every causal chain to its root, and resolve the underlying ' ~
    'cause rather than any surface symptom.\nDo not stop reasoning until you have ' ~
    'independently verified the solution from multiple angles and are certain that ' ~
    'no assumption remains unchecked and no error remains undiscovered.\n\n' -}}
{%- endif -%}
{{- state.system -}}
{%- if has_tools -%}{{- ('\n\n' if state.system else '') ~ all_tools() -}}{%- endif -%}
{{- format -}}
{%- for message in messages -%}
  {%- if message.role == 'assistant' -%}
    {%- set thought = message.reasoning_content or '' -%}
    {{- '<｜Assistant｜>' -}}
    {%- if thought and (state.keeps or loop.index0 > state.last) -%}
      {{- '<think>' ~ thought ~ '</think>' -}}
    {%- else -%}{{- '</think>' -}}{%- endif -%}
    {{- text_of(message.content) -}}
    {%- if message.tool_calls is defined and message.tool_calls -%}
      {{- all_calls(message.tool_calls) -}}
      {%- set state.calls = message.tool_calls -%}
    {%- endif -%}
    {{- '<｜end▁of▁sentence｜>' -}}
    {%- set state.in_turn = false -%}
  {%- elif message.role == 'tool' -%}
    {%- if loop.index0 == 0 or messages[loop.index0 - 1].role != 'tool' -%}
      {{- '\n\n' if state.in_turn else '<｜User｜>' -}}
      {{- first_results(messages[loop.index0:], state.calls) -}}
      {%- set state.in_turn = true -%}
    {%- endif -%}
  {%- elif message.role != 'system' -%}
    {{- '\n\n' if state.in_turn else '<｜User｜>' -}}
    {{- text_of(message.content) -}}
    {%- set state.in_turn = true -%}
  {%- endif -%}
{%- endfor -%}
{{- '<｜Assistant｜>' ~ ('<think>' if thinking else '</think>') if generates else '' -}}
)jinja";

// As V4, with these differences: the effort is a number; the system has a token, and its later
// texts are turns at their place, which an answer may follow.
constexpr std::string_view kDeepSeek41 = R"jinja(
{%- set effort = reasoning_effort if reasoning_effort is defined else 'high' -%}
{%- set efforts = {'minimal': 50, 'low': 50, 'high': 75, 'max': 100} -%}
{%- if effort is string -%}{%- set effort = efforts.get(effort, 75) -%}
{%- elif not (effort is integer and effort >= 1 and effort <= 100) -%}{%- set effort = 75 -%}
{%- endif -%}
{%- set has_system = messages and messages[0].role == 'system' -%}
{%- for message in messages -%}
  {%- if message.role == 'tool' -%}{%- set state.keeps = true -%}{%- endif -%}
  {%- if message.role != 'assistant' and not (loop.first and has_system) -%}
    {%- set state.last = loop.index0 -%}
  {%- endif -%}
{%- endfor -%}
{{- bos_token if bos_token is defined else '' -}}
{{- '<｜System｜>' if thinking or has_system or has_tools or has_format else '' -}}
{%- if thinking -%}
{{- 'Reasoning Effort: ' ~ effort ~ ' (range 1-100, the higher the value, the more thorough ' ~
    'the reasoning)\n\n' -}}
{%- endif -%}
{{- text_of(messages[0].content) if has_system else '' -}}
{{- '\n\n' ~ all_tools() if has_tools else '' -}}
{{- format -}}
{%- for message in messages -%}
  {%- if message.role == 'assistant' -%}
    {{- '<｜Assistant｜>' -}}
    {%- if thinking and (state.keeps or loop.index0 > state.last) -%}
      {{- '<think>' ~ (message.reasoning_content or '') -}}
    {%- endif -%}
    {{- '</think>' ~ text_of(message.content) -}}
    {%- if message.tool_calls is defined and message.tool_calls -%}
      {{- all_calls(message.tool_calls) -}}
      {%- set state.calls = message.tool_calls -%}
    {%- endif -%}
    {{- '<｜end▁of▁sentence｜>' -}}
    {%- set state.in_turn = false -%}
  {%- elif message.role == 'tool' -%}
    {%- if loop.index0 == 0 or messages[loop.index0 - 1].role != 'tool' -%}
      {{- '\n\n' if state.in_turn else '<｜User｜>' -}}
      {{- first_results(messages[loop.index0:], state.calls) -}}
      {%- set state.in_turn = true -%}
    {%- endif -%}
  {%- elif message.role != 'system' -%}
    {{- '\n\n' if state.in_turn else '<｜User｜>' -}}
    {{- text_of(message.content) -}}
    {%- set state.in_turn = true -%}
  {%- elif not loop.first -%}
    {{- '<｜System｜>' ~ text_of(message.content) -}}
    {%- set state.in_turn = false -%}
  {%- endif -%}
{%- endfor -%}
{{- '<｜Assistant｜>' ~ ('<think>' if thinking else '</think>') if generates else '' -}}
)jinja";

// Goes before the file's own template of V3.1: tools become the text that its makers tell users to
// put after the system's text. The last line break belongs to the tag, so that nothing changes
// after it.
constexpr std::string_view kTools31 = R"jinja(
{%- if tools is defined and tools -%}
  {%- set told = namespace(text='\n\n## Tools\nYou have access to the following tools:\n',
                           system='', at=-1) -%}
  {%- for tool in tools -%}
    {%- set function = tool.function or tool -%}
    {%- set told.text = told.text ~ '\n### ' ~ function.name ~
        '\nDescription: ' ~ (function.description or '') ~
        '\n\nParameters: ' ~ ((function.parameters or {}) | tojson) ~ '\n' -%}
  {%- endfor -%}
  {%- set told.text = told.text ~
      '\nIMPORTANT: ALWAYS adhere to this exact format for tool use:\n' ~
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>tool_call_name<｜tool▁sep｜>' ~
      'tool_call_arguments<｜tool▁call▁end｜>{additional_tool_calls}<｜tool▁calls▁end｜>\n\n' ~
      'Where:\n- `tool_call_name` must be an exact match to one of the available tools\n' ~
      '- `tool_call_arguments` must be valid JSON that strictly follows the tool\'s Parameters ' ~
      'Schema\n- For multiple tool calls, chain them directly without separators or spaces' -%}
  {%- for message in messages -%}
    {%- if message.role == 'system' -%}
      {%- set told.at = loop.index0 -%}
      {%- set told.system = message.content -%}
    {%- endif -%}
  {%- endfor -%}
  {%- set messages = messages[:[told.at, 0] | max] +
      [{'role': 'system', 'content': told.system + told.text}] + messages[told.at + 1:] -%}
{%- endif %}
)jinja";

std::string WithParts(std::string_view tags, std::string_view parts, std::string_view rest) {
  return std::string(tags).append(kDeepSeekParts).append(parts).append(rest);
}

}  // namespace

std::string_view DeepSeek31Tools() { return kTools31; }

std::string_view DeepSeek32Template() {
  static const std::string whole = WithParts(kTags32, "", kDeepSeek32);
  return whole;
}

std::string_view DeepSeek4Template() {
  static const std::string whole = WithParts(kTags4, kDeepSeek4Parts, kDeepSeek4);
  return whole;
}

std::string_view DeepSeek41Template() {
  static const std::string whole = WithParts(kTags41, kDeepSeek4Parts, kDeepSeek41);
  return whole;
}

}  // namespace aster::jinja
