// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/fallback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "jinja/template.h"

namespace aster::jinja {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string Rendered(std::string_view variables, std::string_view architecture = "deepseek4") {
  const auto parsed = ChatTemplate::Parse(FallbackTemplate(architecture));
  if (!parsed.ok()) return parsed.error().message();
  const auto text = parsed->RenderJson(variables);
  return text.ok() ? *text : text.error().message();
}

std::string RenderGptOss(std::string_view variables) {
  const auto parsed = ChatTemplate::Parse(FallbackTemplate("gpt-oss"));
  if (!parsed.ok()) return parsed.error().message();
  const auto text = parsed->RenderJson(variables);
  return text.ok() ? *text : text.error().message();
}

TEST(FallbackTemplate, OfGptOssHasChannelsAndEfforts) {
  const std::string plain = RenderGptOss(
      R"({"messages": [{"role": "system", "content": "Be brief."},
                       {"role": "user", "content": "Hi"}], "add_generation_prompt": true})");
  EXPECT_THAT(plain, HasSubstr("Reasoning: medium"));
  EXPECT_THAT(plain, EndsWith("<|end|><|start|>developer<|message|># Instructions\n\nBe brief.\n\n"
                              "<|end|><|start|>user<|message|>Hi<|end|><|start|>assistant"));
  EXPECT_THAT(RenderGptOss(R"({"messages": [], "reasoning_effort": "high"})"),
              HasSubstr("Reasoning: high"));
}

TEST(FallbackTemplate, OfGptOssDeclaresToolsAndShowsCalls) {
  const std::string text = RenderGptOss(
      R"({"tools": [{"type": "function", "function": {"name": "f", "description": "Does.",
            "parameters": {"type": "object", "required": ["a"], "properties": {
              "a": {"type": "integer"}, "b": {"enum": ["x", "y"]},
              "c": {"type": "array", "items": {"type": "string"}}}}}}],
          "messages": [{"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "", "thinking": "Hm.", "tool_calls":
              [{"function": {"name": "f", "arguments": {"a": 1}}}]},
            {"role": "tool", "content": "2"}],
          "add_generation_prompt": true})");
  EXPECT_THAT(text, HasSubstr("// Does.\ntype f = (_: {\na: number,\nb?: \"x\" | \"y\",\n"
                              "c?: string[],\n}) => any;"));
  EXPECT_THAT(
      text, EndsWith("<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant "
                     "to=functions.f<|channel|>commentary json<|message|>{\"a\": 1}<|call|>"
                     "<|start|>functions.f to=assistant<|channel|>commentary<|message|>\"2\"<|end|>"
                     "<|start|>assistant"));
}

TEST(ReplacementTemplate, OfPhi4MiniWritesToolsAndCalls) {
  constexpr std::string_view kOwn = "{{ '<|tool|>' + message['tools'] }}";
  EXPECT_EQ(ReplacementTemplate("phi3", "{{ message['content'] }}"), "");
  EXPECT_EQ(ReplacementTemplate("llama", kOwn), "");
  const auto parsed = ChatTemplate::Parse(ReplacementTemplate("phi3", kOwn));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  const auto render = [&](std::string_view variables) {
    const auto text = parsed->RenderJson(variables);
    return text.ok() ? *text : text.error().message();
  };
  EXPECT_EQ(render(R"({"messages": [{"role": "system", "content": "Be brief."},
                                    {"role": "user", "content": "Hi"}],
                       "add_generation_prompt": true})"),
            "<|system|>Be brief.<|end|><|user|>Hi<|end|><|assistant|>");
  EXPECT_EQ(render(R"({"eos_token": "<e>", "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "", "tool_calls": [
                  {"function": {"name": "f", "arguments": {"a": 1}}},
                  {"function": {"name": "g", "arguments": "{}"}}]},
                {"role": "tool", "content": "2"}],
              "tools": [{"type": "function", "function": {"name": "f"}}, {"name": "g"}]})"),
            "<|system|>You are a helpful assistant with some tools."
            "<|tool|>[{\"name\": \"f\"}, {\"name\": \"g\"}]<|/tool|><|end|><|user|>Hi<|end|>"
            "<|assistant|><|tool_call|>[{\"name\": \"f\", \"arguments\": {\"a\": 1}}, "
            "{\"name\": \"g\", \"arguments\": {}}]<|/tool_call|><|end|><|tool|>2<|end|><e>");
}

// A template like V3.1's: it joins all system texts, and has no tools.
constexpr std::string_view kV31 =
    "{%- set said = namespace(text='', gap='') -%}{%- for m in messages if m.role == 'system' -%}"
    "{%- set said.text = said.text + said.gap + m.content -%}{%- set said.gap = '\n\n' -%}"
    "{%- endfor -%}{{ bos_token }}{{ said.text }}{%- for m in messages if m.role != 'system' -%}"
    "{{ '<' + m.role + '>' + m.content }}{%- for c in m.tool_calls or [] -%}"
    "{{ c.function.name + '<｜tool▁sep｜>' + c.function.arguments }}{%- endfor -%}{%- endfor -%}";

std::string RenderSource(std::string_view source, std::string_view variables) {
  const auto parsed = ChatTemplate::Parse(source);
  if (!parsed.ok()) return parsed.error().message();
  const auto text = parsed->RenderJson(variables);
  return text.ok() ? *text : text.error().message();
}

TEST(ReplacementTemplate, OfDeepSeek31ListsToolsAfterTheSystemMessage) {
  const auto render = [](const std::string& messages) {
    return RenderSource(ReplacementTemplate("deepseek2", kV31), R"({"bos_token": "<B>", "tools": [
        {"type": "function", "function": {"name": "add", "description": "It's \"adding\".",
         "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}},
        {"name": "now"}], "messages": [)" + messages + R"({"role": "user", "content": "Hi"}]})");
  };
  const std::string tools =
      "\n\n## Tools\nYou have access to the following tools:\n\n"
      "### add\nDescription: It's \"adding\".\n\nParameters: "
      "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}}}\n\n"
      "### now\nDescription: \n\nParameters: {}\n\n"
      "IMPORTANT: ALWAYS adhere to this exact format for tool use:\n"
      "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>tool_call_name<｜tool▁sep｜>tool_call_arguments"
      "<｜tool▁call▁end｜>{additional_tool_calls}<｜tool▁calls▁end｜>\n\n"
      "Where:\n- `tool_call_name` must be an exact match to one of the available tools\n"
      "- `tool_call_arguments` must be valid JSON that strictly follows the tool's Parameters "
      "Schema\n- For multiple tool calls, chain them directly without separators or spaces";
  EXPECT_EQ(render(""), "<B>" + tools + "<user>Hi");
  EXPECT_EQ(render(R"({"role": "system", "content": "Be kind."},)"),
            "<B>Be kind." + tools + "<user>Hi");
  EXPECT_EQ(render(R"({"role": "system", "content": "Be kind."}, {"role": "user", "content": "So"},
                      {"role": "system", "content": "{{ Be }} brief."},)"),
            "<B>Be kind.\n\n{{ Be }} brief." + tools + "<user>So<user>Hi");
}

TEST(ReplacementTemplate, OfDeepSeek31IsTheFilesOwnWithoutTools) {
  const std::string variables = R"("bos_token": "<B>", "messages": [
      {"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"},
      {"role": "assistant", "content": "", "tool_calls": [
        {"function": {"name": "f", "arguments": "{}"}}]}]})";
  // The first bytes of the text stay, whatever they are.
  for (const char* begin : {"", "\n", "\n\n", "  ", " \n ", "  {% if true %}\n x{% endif %}\n",
                            "{%- if true %} x{% endif %}", "{# a #}\n", "\r\n\t", "{{ 'x' }}\n"}) {
    const std::string source = begin + std::string(kV31);
    const std::string replaced = ReplacementTemplate("deepseek2", source);
    ASSERT_NE(replaced, "");
    for (const char* tools : {"{", R"({"tools": null, )", R"({"tools": [], )"}) {
      EXPECT_EQ(RenderSource(replaced, tools + variables), RenderSource(source, tools + variables))
          << begin;
    }
  }
}

TEST(ReplacementTemplate, OfDeepSeek31IsForItsTemplateOnly) {
  EXPECT_NE(ReplacementTemplate("deepseek32", kV31), "");
  EXPECT_EQ(ReplacementTemplate("llama", kV31), "");
  // A template with tools is not replaced.
  EXPECT_EQ(ReplacementTemplate("deepseek2", std::string(kV31) + "{{ tools | tojson }}"), "");
  // Nor are those of V3 and R1, whose calls are in fences, and V2, which has no calls.
  EXPECT_EQ(ReplacementTemplate("deepseek2", std::string(kV31) + "\n```json\n"), "");
  EXPECT_EQ(ReplacementTemplate("deepseek2", "{{ messages[0].content }}"), "");
  EXPECT_EQ(ReplacementTemplate("deepseek2", FallbackTemplate("deepseek32")), "");
}

std::string RenderGemma3(std::string_view variables) {
  const auto parsed = ChatTemplate::Parse(FallbackTemplate("gemma3"));
  if (!parsed.ok()) return parsed.error().message();
  const auto text = parsed->RenderJson(variables);
  return text.ok() ? *text : text.error().message();
}

TEST(FallbackTemplate, OfGemma3HasTwoRoles) {
  EXPECT_EQ(RenderGemma3(R"({"bos_token": "<bos>", "add_generation_prompt": true, "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
                {"role": "assistant", "content": "Hello."},
                {"role": "user", "content": "And now?"}]})"),
            "<bos><start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n"
            "<start_of_turn>model\nHello.<end_of_turn>\n"
            "<start_of_turn>user\nAnd now?<end_of_turn>\n<start_of_turn>model\n");
}

TEST(FallbackTemplate, OfGemma3AsksForCallsAsJson) {
  const std::string text = RenderGemma3(
      R"({"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
          "messages": [{"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "", "tool_calls":
              [{"function": {"name": "f", "arguments": {"a": 1}}}]},
            {"role": "tool", "content": "2"}],
          "add_generation_prompt": true})");
  EXPECT_THAT(text, StartsWith("<start_of_turn>user\nYou can call these functions"));
  EXPECT_THAT(text, HasSubstr("\n{\"name\": \"f\", \"parameters\": {}}\nTo call one"));
  EXPECT_THAT(text, EndsWith("\n\nHi<end_of_turn>\n<start_of_turn>model\n"
                             "{\"name\": \"f\", \"parameters\": {\"a\": 1}}<end_of_turn>\n"
                             "<start_of_turn>user\nResult: 2<end_of_turn>\n"
                             "<start_of_turn>model\n"));
}

TEST(FallbackTemplate, OfMiniMaxHasATagForEachArgument) {
  const auto parsed = ChatTemplate::Parse(FallbackTemplate("minimax-m2"));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  const auto text = parsed->RenderJson(
      R"({"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
          "messages": [{"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm.", "tool_calls":
              [{"function": {"name": "f", "arguments": {"a": 1, "b": "x"}}}]},
            {"role": "tool", "content": "2"}, {"role": "tool", "content": "3"}],
          "add_generation_prompt": true})");
  ASSERT_TRUE(text.ok()) << text.error().message();
  EXPECT_THAT(*text, StartsWith("]~!b[]~b]system\nBe brief.\n\n# Tools\n"));
  EXPECT_THAT(*text,
              HasSubstr("<tools>\n<tool>{\"name\": \"f\", \"parameters\": {}}</tool>\n</tools>"));
  EXPECT_THAT(*text, EndsWith("[e~[\n]~b]user\nHi[e~[\n]~b]ai\n<think>\nHm.\n</think>\n\nYes.\n"
                              "<minimax:tool_call>\n<invoke name=\"f\">\n"
                              "<parameter name=\"a\">1</parameter>\n"
                              "<parameter name=\"b\">x</parameter>\n</invoke>\n"
                              "</minimax:tool_call>[e~[\n]~b]tool\n<response>2</response>\n"
                              "<response>3</response>[e~[\n]~b]ai\n<think>\n"));
}

TEST(FallbackTemplate, OnlyForArchitecturesThatNeedOne) {
  EXPECT_EQ(FallbackTemplate("llama"), "");
  EXPECT_NE(FallbackTemplate("deepseek4"), "");
  EXPECT_NE(FallbackTemplate("deepseek41"), FallbackTemplate("deepseek4"));
}

TEST(FallbackTemplate, QuestionsAndAnswers) {
  EXPECT_EQ(Rendered(R"({"bos_token": "<B>", "add_generation_prompt": true, "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hello"},
                {"role": "assistant", "content": "Hi!", "reasoning_content": "A greeting."},
                {"role": "user", "content": [{"type": "text", "text": "And now?"}]}]})"),
            "<B>Be kind.\n\nBe brief.<｜User｜>Hello<｜Assistant｜></think>Hi!"
            "<｜end▁of▁sentence｜><｜User｜>And now?<｜Assistant｜></think>");
}

TEST(FallbackTemplate, ThinkingHasThreeModes) {
  constexpr const char* kQuestion =
      R"("add_generation_prompt": true, "messages": [{"role": "user", "content": "Why?"}]})";
  const auto rendered = [&](const std::string& more) { return Rendered("{" + more + kQuestion); };
  EXPECT_EQ(rendered(""), "<｜User｜>Why?<｜Assistant｜></think>");
  EXPECT_EQ(rendered(R"("enable_thinking": true, "reasoning_effort": "high", )"),
            "<｜User｜>Why?<｜Assistant｜><think>");
  EXPECT_EQ(rendered(R"("thinking": true, "reasoning_effort": "high", )"),
            rendered(R"("enable_thinking": true, "reasoning_effort": "high", )"));
  const std::string most = rendered(R"("enable_thinking": true, "reasoning_effort": "max", )");
  EXPECT_THAT(most,
              StartsWith("Reasoning Effort: Absolute maximum with no shortcuts permitted.\n"));
  EXPECT_THAT(most, HasSubstr("left unchecked.\n\n<｜User｜>Why?<｜Assistant｜><think>"));
  EXPECT_THAT(rendered(R"("enable_thinking": true, "reasoning_effort": "max",
                          "effort_table": "0731", )"),
              StartsWith("Reasoning Effort: Beyond maximum — exhaustive, relentless"));
  EXPECT_THAT(rendered(R"("enable_thinking": true, "reasoning_effort": "high",
                          "effort_table": "0731", )"),
              StartsWith("Reasoning Effort: Absolute maximum"));
  EXPECT_EQ(rendered(R"("reasoning_effort": "max", )"), "<｜User｜>Why?<｜Assistant｜></think>");
}

TEST(FallbackTemplate, ToolsAreCalledAndAnswerInOrder) {
  const std::string text = Rendered(R"({"add_generation_prompt": true, "enable_thinking": true,
      "tools": [{"type": "function", "function": {"name": "add", "parameters": {}}}],
      "messages": [
        {"role": "user", "content": "1 + 2?"},
        {"role": "assistant", "content": "Let me see.", "reasoning_content": "Sums.",
         "tool_calls": [
           {"id": "a", "function": {"name": "add", "arguments": {"x": 1, "unit": "one"}}},
           {"id": "b", "function": {"name": "add", "arguments": {"list": [1, true]}}}]},
        {"role": "tool", "tool_call_id": "b", "content": "second"},
        {"role": "tool", "tool_call_id": "a", "content": "first"},
        {"role": "user", "content": "Well?"}]})");
  EXPECT_THAT(text, StartsWith("## Tools\n\nYou have access to a set of tools"));
  EXPECT_THAT(text, HasSubstr("### Available Tool Schemas\n\n{\"name\": \"add\", "));
  EXPECT_THAT(text, HasSubstr("invoke tool calls.\n<｜User｜>1 + 2?<｜Assistant｜><think>Sums."
                              "</think>Let me see.\n\n<｜DSML｜tool_calls>\n"));
  EXPECT_THAT(text, HasSubstr("<｜DSML｜invoke name=\"add\">\n"
                              "<｜DSML｜parameter name=\"x\" string=\"false\">1"
                              "</｜DSML｜parameter>\n"
                              "<｜DSML｜parameter name=\"unit\" string=\"true\">one"
                              "</｜DSML｜parameter>\n</｜DSML｜invoke>\n"));
  EXPECT_THAT(text, HasSubstr("string=\"false\">[1, true]</｜DSML｜parameter>\n"
                              "</｜DSML｜invoke>\n</｜DSML｜tool_calls><｜end▁of▁sentence｜>"
                              "<｜User｜><tool_result>first</tool_result>\n\n"
                              "<tool_result>second</tool_result>\n\nWell?<｜Assistant｜><think>"));
}

std::string Render41(std::string_view variables) { return Rendered(variables, "deepseek41"); }

constexpr std::string_view kEffort75 =
    "<｜System｜>Reasoning Effort: 75 (range 1-100, the higher the value, the more thorough the "
    "reasoning)\n\n";

std::string Render32(std::string_view variables) { return Rendered(variables, "deepseek32"); }

TEST(DeepSeek32Template, ReasoningIsKeptAfterTheLastQuestion) {
  const std::string messages = R"("bos_token": "<B>", "messages": [
      {"role": "system", "content": "Be kind."},
      {"role": "user", "content": "Hello"},
      {"role": "assistant", "content": "Hi!", "reasoning_content": "A greeting."},
      {"role": "user", "content": "Why?"},
      {"role": "assistant", "content": "So.", "reasoning_content": "Hm."},
      {"role": "user", "content": [{"type": "text", "text": "And now?"},
                                   {"type": "image_url"}]}]})";
  const std::string before =
      "<B>Be kind.<｜User｜>Hello<｜Assistant｜></think>Hi!<｜end▁of▁sentence｜>"
      "<｜User｜>Why?<｜Assistant｜></think>So.<｜end▁of▁sentence｜><｜User｜>And now?";
  EXPECT_EQ(Render32("{" + messages), before);
  EXPECT_EQ(Render32(R"({"add_generation_prompt": true, )" + messages),
            before + "<｜Assistant｜></think>");
  EXPECT_EQ(Render32(R"({"add_generation_prompt": true, "thinking": true, )" + messages),
            before + "<｜Assistant｜><think>");
  EXPECT_EQ(Render32(R"({"enable_thinking": true, "messages": [
                {"role": "user", "content": "Why?"},
                {"role": "assistant", "content": "So.", "reasoning_content": "Hm."}]})"),
            "<｜User｜>Why?<｜Assistant｜><think>Hm.</think>So.<｜end▁of▁sentence｜>");
}

// The text that opens the answer comes after everything that was said before.
TEST(DeepSeek32Template, TheSystemSpeaksWhereItSpoke) {
  EXPECT_EQ(Render32(R"({"add_generation_prompt": true, "messages": [
                {"role": "user", "content": "Hello"},
                {"role": "user", "content": "Well?"},
                {"role": "system", "content": "Be rude."}]})"),
            "<｜User｜>Hello<｜Assistant｜></think><｜User｜>Well?Be rude.<｜Assistant｜></think>");
  EXPECT_EQ(Render32(R"({"add_generation_prompt": true, "messages": []})"),
            "<｜Assistant｜></think>");
}

TEST(DeepSeek32Template, ToolsFollowTheFirstSystemMessage) {
  const std::string text = Render32(R"({"response_format": {"type": "object"},
      "tools": [{"type": "function", "function": {"name": "add", "parameters": {}}},
                {"type": "function", "function": {"name": "sub"}}],
      "messages": [{"role": "system", "content": "Be kind."},
                   {"role": "user", "content": "Hi"}]})");
  EXPECT_THAT(
      text,
      StartsWith("Be kind.\n\n## Tools\n\nYou have access to a set of tools you can use to answer "
                 "the user's question.\nYou can invoke functions by writing a "
                 "\"<｜DSML｜function_calls>\" block like the following as part of your reply to "
                 "the user:\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"$FUNCTION_NAME\">\n"
                 "<｜DSML｜parameter name=\"$PARAMETER_NAME\" string=\"true|false\">"
                 "$PARAMETER_VALUE</｜DSML｜parameter>\n...\n</｜DSML｜invoke>\n"
                 "<｜DSML｜invoke name=\"$FUNCTION_NAME2\">\n...\n</｜DSML｜invoke>\n"
                 "</｜DSML｜function_calls>\n\nString and scalar parameters"));
  EXPECT_THAT(text, HasSubstr("Here is an example:\n\n<｜DSML｜function_calls>\n...\n"
                              "</｜DSML｜function_calls>\n\n<function_results>\n...\n"
                              "</function_results>\n\n<think>...thinking about results</think>"));
  EXPECT_THAT(text, EndsWith("\n\nHere are the functions available in JSONSchema format:\n"
                             "<functions>\n{\"name\": \"add\", \"parameters\": {}}\n"
                             "{\"name\": \"sub\"}\n</functions>\n\n\n## Response Format:\n\n"
                             "You MUST strictly adhere to the following schema to reply:\n"
                             "{\"type\": \"object\"}<｜User｜>Hi"));
  EXPECT_THAT(Render32(R"({"tools": [{"function": {"name": "f"}}], "messages": []})"),
              StartsWith("\n\n## Tools\n\n"));
}

// Results of calls have a place of their own, after which thoughts continue.
TEST(DeepSeek32Template, ToolsAreCalledAndAnswer) {
  const auto text = [](const std::string& more) {
    return Render32("{" + more + R"("add_generation_prompt": true, "messages": [
        {"role": "user", "content": "1 + 2?"},
        {"role": "assistant", "content": "Let me see.", "reasoning_content": "Sums.",
         "tool_calls": [
           {"id": "a", "function": {"name": "add", "arguments": {"x": 1, "unit": "one"}}},
           {"id": "b", "function": {"name": "add", "arguments": {}}}]},
        {"role": "tool", "tool_call_id": "a", "content": "first"},
        {"role": "tool", "tool_call_id": "b", "content": "second"}]})");
  };
  const std::string rest =
      "Let me see.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"add\">\n"
      "<｜DSML｜parameter name=\"x\" string=\"false\">1</｜DSML｜parameter>\n"
      "<｜DSML｜parameter name=\"unit\" string=\"true\">one</｜DSML｜parameter>\n"
      "</｜DSML｜invoke>\n<｜DSML｜invoke name=\"add\">\n\n</｜DSML｜invoke>\n"
      "</｜DSML｜function_calls><｜end▁of▁sentence｜>\n\n<function_results>\n<result>first</result>"
      "\n<result>second</result>\n</function_results>\n\n";
  EXPECT_EQ(text(R"("enable_thinking": true, )"),
            "<｜User｜>1 + 2?<｜Assistant｜><think>Sums.</think>" + rest + "<think>");
  EXPECT_EQ(text(""), "<｜User｜>1 + 2?<｜Assistant｜></think>" + rest + "</think>");
}

TEST(DeepSeek41Template, TheSystemSpeaksWhereItSpoke) {
  EXPECT_EQ(Render41(R"({"bos_token": "<B>", "add_generation_prompt": true, "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hello"},
                {"role": "assistant", "content": "Hi!", "reasoning_content": "A greeting."},
                {"role": "system", "content": "Be rude."},
                {"role": "assistant", "content": "Pah."},
                {"role": "user", "content": [{"type": "text", "text": "And now?"},
                                             {"type": "image_url"}]},
                {"role": "system", "content": "Be kind again."}]})"),
            "<B><｜System｜>Be kind.<｜System｜>Be brief.<｜User｜>Hello<｜Assistant｜></think>Hi!"
            "<｜end▁of▁sentence｜><｜System｜>Be rude.<｜Assistant｜></think>Pah."
            "<｜end▁of▁sentence｜><｜User｜>And now?<｜System｜>Be kind again."
            "<｜Assistant｜></think>");
}

TEST(DeepSeek41Template, EffortsAreNumbers) {
  constexpr const char* kQuestion =
      R"("add_generation_prompt": true, "messages": [{"role": "user", "content": "Why?"}]})";
  const auto rendered = [&](const std::string& more) { return Render41("{" + more + kQuestion); };
  EXPECT_EQ(rendered(""), "<｜User｜>Why?<｜Assistant｜></think>");
  EXPECT_EQ(rendered(R"("reasoning_effort": "max", )"), rendered(""));
  EXPECT_EQ(rendered(R"("enable_thinking": true, )"),
            std::string(kEffort75) + "<｜User｜>Why?<｜Assistant｜><think>");
  EXPECT_EQ(rendered(R"("thinking": true, )"), rendered(R"("enable_thinking": true, )"));
  const std::pair<const char*, const char*> kEfforts[] = {
      {"\"minimal\"", "50"}, {"\"low\"", "50"},  {"\"medium\"", "75"}, {"\"high\"", "75"},
      {"\"xhigh\"", "75"},   {"\"max\"", "100"}, {"1", "1"},           {"42", "42"},
      {"100", "100"},        {"0", "75"},        {"101", "75"},        {"true", "75"},
      {"null", "75"},        {"\"huge\"", "75"}, {"7.5", "75"},        {"\"none\"", "75"}};
  for (const auto& [effort, number] : kEfforts) {
    const std::string text =
        rendered(std::string(R"("enable_thinking": true, "reasoning_effort": )") + effort + ", ");
    EXPECT_THAT(text,
                StartsWith(std::string("<｜System｜>Reasoning Effort: ") + number + " (range"))
        << effort;
  }
}

TEST(DeepSeek41Template, ReasoningIsKeptAfterTheLastQuestionOrWithTools) {
  const std::string messages = R"("enable_thinking": true, "messages": [
      {"role": "system", "content": "Be kind."},
      {"role": "user", "content": "Hello"},
      {"role": "assistant", "content": "Hi!", "reasoning_content": "A greeting."},
      {"role": "user", "content": "Why?"},
      {"role": "assistant", "content": "So.", "reasoning_content": "Hm."}]})";
  EXPECT_EQ(Render41("{" + messages),
            std::string(kEffort75) +
                "Be kind.<｜User｜>Hello<｜Assistant｜></think>Hi!"
                "<｜end▁of▁sentence｜><｜User｜>Why?<｜Assistant｜><think>Hm.</think>So."
                "<｜end▁of▁sentence｜>");
  EXPECT_THAT(Render41(R"({"tools": [{"function": {"name": "f"}}], )" + messages),
              HasSubstr("<｜Assistant｜><think>A greeting.</think>Hi!"));
}

TEST(DeepSeek41Template, ToolsStandInTheFirstMessageOfTheSystem) {
  constexpr const char* kRest =
      R"("tools": [{"type": "function", "function": {"name": "add", "parameters": {}}}],
         "response_format": {"type": "object"}, "messages": [)";
  const std::string user = R"({"role": "user", "content": "Hi"}]})";
  const std::string bare = Render41(std::string("{") + kRest + user);
  EXPECT_THAT(bare, StartsWith("<｜System｜>\n\n## Tools\n\nYou have access to a set of tools"));
  EXPECT_THAT(bare, HasSubstr("\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"$TOOL_NAME\">\n"
                              "<｜DSML｜ parameter name=\"$PARAMETER_NAME\" string=\"true|false\">"
                              "$PARAMETER_VALUE</｜DSML｜ parameter>\n...\n</｜DSML｜ invoke>\n"
                              "<｜DSML｜ invoke name=\"$TOOL_NAME2\">\n...\n</｜DSML｜ invoke>\n"
                              "</｜DSML｜ calls>\n\n"));
  EXPECT_THAT(bare,
              EndsWith("\n{\"name\": \"add\", \"parameters\": {}}\n\nYou MUST strictly follow "
                       "the above defined tool name and parameter schemas to invoke tool "
                       "calls.\n\n\n## Response Format:\n\nYou MUST strictly adhere to the "
                       "following schema to reply:\n{\"type\": \"object\"}<｜User｜>Hi"));
  EXPECT_THAT(Render41(std::string(R"({"enable_thinking": true, )") + kRest +
                       R"({"role": "system", "content": "Be kind."}, )" + user),
              StartsWith(std::string(kEffort75) + "Be kind.\n\n## Tools\n\n"));
}

TEST(DeepSeek41Template, ToolsAreCalledAndAnswerInOrder) {
  const std::string text = Render41(R"({"add_generation_prompt": true, "enable_thinking": true,
      "tools": [{"type": "function", "function": {"name": "add", "parameters": {}}}],
      "messages": [
        {"role": "user", "content": "1 + 2?"},
        {"role": "assistant", "content": "Let me see.", "reasoning_content": "Sums.",
         "tool_calls": [
           {"id": "a", "function": {"name": "add", "arguments": {"x": 1, "unit": "one"}}},
           {"id": "b", "function": {"name": "add", "arguments": {}}}]},
        {"role": "tool", "tool_call_id": "b", "content": "second"},
        {"role": "tool", "tool_call_id": "a", "content": "first"},
        {"role": "user", "content": "Well?"}]})");
  EXPECT_THAT(text, EndsWith("<｜User｜>1 + 2?<｜Assistant｜><think>Sums.</think>Let me see.\n\n"
                             "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"add\">\n"
                             "<｜DSML｜ parameter name=\"x\" string=\"false\">1"
                             "</｜DSML｜ parameter>\n"
                             "<｜DSML｜ parameter name=\"unit\" string=\"true\">one"
                             "</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n"
                             "<｜DSML｜ invoke name=\"add\">\n\n</｜DSML｜ invoke>\n"
                             "</｜DSML｜ calls><｜end▁of▁sentence｜>"
                             "<｜User｜><tool_result>first</tool_result>\n\n"
                             "<tool_result>second</tool_result>\n\nWell?<｜Assistant｜><think>"));
}

}  // namespace
}  // namespace aster::jinja
