// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/reply_parser.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aster::chat {
namespace {

using Kind = ReplyEvent::Kind;

// Events as one line: text unchanged, reasoning in (), calls as name#id{…}.
std::string Line(const std::vector<ReplyEvent>& events) {
  std::string line;
  for (const ReplyEvent& event : events) {
    switch (event.kind) {
      case Kind::kContent:
      case Kind::kArguments:
        line += event.text;
        break;
      case Kind::kReasoning:
        line += "(" + event.text + ")";
        break;
      case Kind::kCallBegin:
        line += "<<" + event.text + (event.id.empty() ? "" : "#" + event.id) + " ";
        break;
      case Kind::kCallEnd:
        line += ">>";
        break;
    }
  }
  return line;
}

Dialect Of(Family family) {
  Dialect dialect{.family = family, .has_tools = true};
  dialect.has_reasoning = true;
  dialect.reasoning_open_tail = "\n";
  dialect.reasoning_close_lead = "\n";
  dialect.reasoning_close_tail = "\n\n";
  const bool is_dsml =
      family == Family::kDsml32 || family == Family::kDsml || family == Family::kDsml41;
  dialect.call_lead = is_dsml ? "\n\n" : "\n";
  return dialect;
}

std::string Parse(const Dialect& dialect, std::string_view prompt, std::string_view reply,
                  const Tools* tools, size_t piece) {
  ReplyParser parser(dialect, prompt, tools);
  std::vector<ReplyEvent> events;
  for (size_t at = 0; at < reply.size(); at += piece) parser.Push(reply.substr(at, piece), events);
  parser.Finish(events);
  return Line(events);
}

// Parses the reply in pieces of every size, with the same events.
std::string Parse(Family family, std::string_view reply, std::string_view prompt = "") {
  const Tools tools = {.has_tool = [](std::string_view name) { return name != "nobody"; },
                       .is_string = [](std::string_view, std::string_view parameter,
                                       std::string_view) { return parameter == "text"; }};
  const std::string whole = Parse(Of(family), prompt, reply, &tools, reply.size() + 1);
  for (const size_t piece : {1, 2, 3, 5, 7}) {
    EXPECT_EQ(Parse(Of(family), prompt, reply, &tools, piece), whole) << piece;
  }
  return whole;
}

TEST(ReplyParser, TextIsText) {
  for (const Family family :
       {Family::kPlain, Family::kHermes, Family::kLlama, Family::kMistral, Family::kDeepSeek,
        Family::kDsml32, Family::kDsml, Family::kDsml41, Family::kGlm, Family::kKimi,
        Family::kMiniMax, Family::kGemma, Family::kPhi}) {
    for (const std::string_view text :
         {"", "hello", "a < b and [TOOL or <tool_ca", "\n\n", "  x  \n", "{", "{\"a\": 1}",
          "<think", "x <think>y</think>", "[1, 2]", "<｜tool▁call", "\xf0\x9f", "<|python_ta",
          "<｜DSML｜ cal"}) {
      EXPECT_EQ(Parse(family, text), text) << FamilyName(family);
    }
  }
}

TEST(ReplyParser, Reasoning) {
  EXPECT_EQ(Parse(Family::kHermes, "<think>\na\nb\n</think>\n\nc"), "(a\nb)c");
  EXPECT_EQ(Parse(Family::kHermes, "\n<think>a</think>c"), "(a)c");
  EXPECT_EQ(Parse(Family::kHermes, "a\n</think>\nc", "x<think>\n"), "(a)\nc");
  EXPECT_EQ(Parse(Family::kHermes, "\na</think>\n\nc", "x<think>"), "(a)c");
  EXPECT_EQ(Parse(Family::kHermes, "a\n</thin", "x<think>"), "(a\n</thin)");
  EXPECT_EQ(Parse(Family::kHermes, "\n\nc", "x<think>\n\n</think>"), "c");
  EXPECT_EQ(Parse(Family::kHermes, "<think>a <tool_call> b</think>c"), "(a <tool_call> b)c");
}

TEST(ReplyParser, Hermes) {
  EXPECT_EQ(Parse(Family::kHermes,
                  "So:\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\":1 }}\n"
                  "</tool_call>\n<tool_call>{\"arguments\": {}, \"name\": \"g\"}"
                  "</tool_call>\n"),
            "So:<<f {\"a\":1 }>><<g {}>>");
  EXPECT_EQ(Parse(Family::kHermes,
                  "<tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": 2}\"}"
                  "</tool_call> and more"),
            "<<f {\"a\": 2}>> and more");
  EXPECT_EQ(Parse(Family::kHermes, "<tool_call>{\"name\": \"f\"}</tool_call>"), "<<f {}>>");
}

// Models write line breaks into strings, where parsers of JSON refuse them.
TEST(ReplyParser, ControlCharactersInStringsOfArgumentsAreEscaped) {
  const std::string_view raw = "{\"a\": \"x\n\ty\\n\\\"\r\x01\",\n \"b\": [\"\n\", 1]}";
  const std::string json = "{\"a\": \"x\\n\\ty\\n\\\"\\r\\u0001\",\n \"b\": [\"\\n\", 1]}";
  const auto with = [&](std::string_view form) { return fmt::format(fmt::runtime(form), raw); };
  const std::pair<Family, std::string> kCalls[] = {
      {Family::kHermes, with("<tool_call>{{\"name\": \"f\", \"arguments\": {}}}</tool_call>")},
      {Family::kHermes, with("<tool_call>{{\"arguments\": {}, \"name\": \"f\"}}</tool_call>")},
      {Family::kLlama, with("{{\"name\": \"f\", \"parameters\": {}}}")},
      {Family::kMistral, with("[TOOL_CALLS]f[ARGS]{}")},
      {Family::kDeepSeek,
       with("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
            "<｜tool▁calls▁end｜>")}};
  for (const auto& [family, call] : kCalls)
    EXPECT_EQ(Parse(family, call), "<<f " + json + ">>") << FamilyName(family);
  // Values of families that write tags.
  EXPECT_EQ(Parse(Family::kQwenXml,
                  with("<tool_call>\n<function=f>\n<parameter=a>\n{}\n</parameter>\n</function>\n"
                       "</tool_call>")),
            "<<f {\"a\": " + json + "}>>");
  // A string that contains the object.
  EXPECT_EQ(Parse(Family::kHermes,
                  "<tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": \\\"x\ny\\\"}\"}"
                  "</tool_call>"),
            "<<f {\"a\": \"x\\ny\"}>>");
  // Each call's strings are its own, also behind one that ends within a string.
  EXPECT_EQ(Parse(Family::kHermes,
                  "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"\\?<tool_call>{\"name\": "
                  "\"g\", \"arguments\": {\n\"a\": \"\n\"}}</tool_call>"),
            "<<f {\"a\": \"\\>>?<<g {\n\"a\": \"\\n\"}>>");
}

TEST(ReplyParser, WhatIsNoCallIsText) {
  for (const std::string_view text :
       {"<tool_call> me", "<tool_call>{\"name\": 3}</tool_call>", "<tool_call><tool_call>",
        "<tool_call>{\"name\": \"f\", \"arg", "<tool_call>{}</tool_call>",
        "<tool_call>{\"name\": \"\\ud800\"}", "a\n<tool_call>{\"name\": \"f\",}"}) {
    EXPECT_EQ(Parse(Family::kHermes, text), text);
  }
  for (const std::string_view text :
       {"[TOOL_CALLS]", "[TOOL_CALLS] none", "[TOOL_CALLS][", "[TOOL_CALLS][1]",
        "[TOOL_CALLS]f[ARGS]", "[TOOL_CALLS]f[ARGS]no", "[TOOL_CALLS][]"}) {
    EXPECT_EQ(Parse(Family::kMistral, text), text);
  }
  for (const std::string_view text :
       {"<tool_call>f", "<tool_call>f\n<arg_key>a</arg_key></tool_call>",
        "<tool_call></tool_call>"}) {
    EXPECT_EQ(Parse(Family::kGlm, text), text);
  }
  EXPECT_EQ(Parse(Family::kLlama, "{\"name\": \"nobody\", \"parameters\": {}}"),
            "{\"name\": \"nobody\", \"parameters\": {}}");
  EXPECT_EQ(Parse(Family::kLlama, "<|python_tag|>print(1)"), "<|python_tag|>print(1)");
}

// A client could not use calls of tools that it did not offer.
TEST(ReplyParser, CallsOfUnknownToolsAreText) {
  const std::pair<Family, std::string_view> kCalls[] = {
      {Family::kHermes, "<tool_call>\n{\"name\": \"nobody\", \"arguments\": {}}\n</tool_call>"},
      {Family::kHermes, "<tool_call>{\"arguments\": {\"a\": 1}, \"name\": \"nobody\"}</tool_call>"},
      {Family::kMistral, "[TOOL_CALLS][{\"name\": \"nobody\", \"arguments\": {}}]"},
      {Family::kMistral, "[TOOL_CALLS]nobody[ARGS]{}"},
      {Family::kDeepSeek,
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>nobody<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
       "<｜tool▁calls▁end｜>"},
      {Family::kDsml32,
       "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"nobody\">\n\n</｜DSML｜invoke>\n"
       "</｜DSML｜function_calls>"},
      {Family::kDsml,
       "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"nobody\">\n</｜DSML｜invoke>\n"
       "</｜DSML｜tool_calls>"},
      {Family::kDsml41,
       "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"nobody\">\n\n</｜DSML｜ invoke>\n</｜DSML｜ "
       "calls>"},
      {Family::kGlm, "<tool_call>nobody\n</tool_call>"},
      {Family::kQwenXml, "<tool_call>\n<function=nobody>\n</function>\n</tool_call>"},
      {Family::kMimo, "<tool_call>\n<function=nobody>\n</function>\n</tool_call>"},
      {Family::kKimi,
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.nobody:0"
       "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"}};
  for (const auto& [family, call] : kCalls) EXPECT_EQ(Parse(family, call), call);
}

TEST(ReplyParser, ACallThatIsCutShortEndsAsFarAsItCame) {
  EXPECT_EQ(Parse(Family::kHermes, "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"b"),
            "<<f {\"a\": \"b>>");
  EXPECT_EQ(Parse(Family::kHermes, "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": ?} x"),
            "<<f {\"a\": >>?} x");
}

TEST(ReplyParser, Llama) {
  EXPECT_EQ(Parse(Family::kLlama, "{\"name\": \"f\", \"parameters\": {\"a\": [1]}}"),
            "<<f {\"a\": [1]}>>");
  EXPECT_EQ(Parse(Family::kLlama,
                  "<|python_tag|>{\"type\": \"function\", \"name\": \"f\", "
                  "\"parameters\": {}}; {\"name\": \"g\", \"parameters\": {}}"),
            "<<f {}>><<g {}>>");
}

TEST(ReplyParser, Mistral) {
  EXPECT_EQ(Parse(Family::kMistral,
                  "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": 1}, "
                  "\"id\": \"abcdefghi\"}, {\"name\": \"g\", \"arguments\": {}}]"),
            "<<f#abcdefghi {\"a\": 1}>><<g {}>>");
  EXPECT_EQ(Parse(Family::kMistral, "Well.[TOOL_CALLS]f[ARGS]{\"a\": 1}[TOOL_CALLS]g[ARGS]{}"),
            "Well.<<f {\"a\": 1}>><<g {}>>");
}

TEST(ReplyParser, MistralWithIds) {
  EXPECT_EQ(Parse(Family::kMistral,
                  "Well.[TOOL_CALLS]f[CALL_ID]aZ0bY1cX2[ARGS]{\"a\": \"[CALL_ID]x[ARGS]{}\"}"
                  "[TOOL_CALLS]g[ARGS]{}[TOOL_CALLS]f[CALL_ID]000000000[ARGS] {\"b\":[1]}"),
            "Well.<<f#aZ0bY1cX2 {\"a\": \"[CALL_ID]x[ARGS]{}\"}>><<g {}>><<f#000000000 "
            "{\"b\":[1]}>>");
  // An invalid id does not invalidate the call.
  EXPECT_EQ(Parse(Family::kMistral,
                  "[TOOL_CALLS]f[CALL_ID][ARGS]{}[TOOL_CALLS]f[CALL_ID]a {\"}\n[CALL_ID]b[ARGS]{}"),
            "<<f {}>><<f#a {\"}\n[CALL_ID]b {}>>");
  for (const std::string& text :
       {std::string("[TOOL_CALLS]f[CALL_ID]"), std::string("[TOOL_CALLS]f[CALL_ID]abcdefghi"),
        std::string("[TOOL_CALLS]f[CALL_ID]abcdefghi[ARGS"),
        std::string("[TOOL_CALLS]f[CALL_ID]abcdefghi[ARGS]"),
        std::string("[TOOL_CALLS]f[CALL_ID]abcdefghi[ARGS]none"),
        std::string("[TOOL_CALLS]f[CALL_ID]abcdefghi{}"),
        std::string("[TOOL_CALLS][CALL_ID]abcdefghi[ARGS]{}"),
        std::string("[TOOL_CALLS]nobody[CALL_ID]abcdefghi[ARGS]{}"),
        std::string("[TOOL_CALLS]f[ARGS][CALL_ID]abcdefghi{}"),
        "[TOOL_CALLS]f[CALL_ID]" + std::string(600, 'a') + "[ARGS]{}"}) {
    EXPECT_EQ(Parse(Family::kMistral, text), text);
  }
}

TEST(ReplyParser, Phi) {
  EXPECT_EQ(Parse(Family::kPhi,
                  "So: <|tool_call|>[{\"name\": \"f\", \"arguments\": {\"a\": 1}}, "
                  "{\"name\": \"g\", \"arguments\": {}}]<|/tool_call|>"),
            "So: <<f {\"a\": 1}>><<g {}>>");
  EXPECT_EQ(Parse(Family::kPhi, "<|tool_call|>[{\"name\":\"f\"}] and more"), "<<f {}>> and more");
  for (const std::string_view text :
       {"<|tool_call|>", "<|tool_call|>[", "<|tool_call|>[]<|/tool_call|>", "<|tool_call|>f(1)",
        "<|tool_call|>[{\"name\": \"nobody\", \"arguments\": {}}]<|/tool_call|>"})
    EXPECT_EQ(Parse(Family::kPhi, text), text);
}

TEST(ReplyParser, DeepSeek) {
  const std::string begin = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>";
  const std::string end = "<｜tool▁call▁end｜>";
  EXPECT_EQ(Parse(Family::kDeepSeek, "x" + begin + "f<｜tool▁sep｜>{\"a\":\"b\"}" + end +
                                         "\n<｜tool▁call▁begin｜>g<｜tool▁sep｜>{}" + end +
                                         "<｜tool▁calls▁end｜>"),
            "x<<f {\"a\":\"b\"}>><<g {}>>");
  EXPECT_EQ(Parse(Family::kDeepSeek, begin + "function<｜tool▁sep｜>f\n```json\n{\"a\": 1}\n```" +
                                         end + "<｜tool▁calls▁end｜>"),
            "<<f {\"a\": 1}>>");
  // A reply that is cut off behind a call.
  for (const std::string_view mark :
       {"<｜tool▁calls▁end｜>", "\n<｜tool▁call▁begin｜>f<｜tool▁sep｜>"}) {
    for (size_t cut = 0; cut < mark.size(); ++cut) {
      EXPECT_EQ(Parse(Family::kDeepSeek,
                      begin + "f<｜tool▁sep｜>{}" + end + std::string(mark.substr(0, cut))),
                "<<f {}>>");
    }
  }
}

// V3.2 has another name than V4 for the block of calls; each is text for the other.
TEST(ReplyParser, Dsml) {
  for (const auto& [family, block] :
       {std::pair(Family::kDsml32, "function_calls"), std::pair(Family::kDsml, "tool_calls")}) {
    const std::string reply = fmt::format(
        "Look.\n\n<｜DSML｜{0}>\n<｜DSML｜invoke name=\"f\">\n"
        "<｜DSML｜parameter name=\"a\" string=\"true\">x \"y\"\n</｜DSML｜parameter>\n"
        "<｜DSML｜parameter name=\"b\" string=\"false\">[1, 2]</｜DSML｜parameter>\n"
        "</｜DSML｜invoke>\n<｜DSML｜invoke name=\"g\">\n\n</｜DSML｜invoke>\n</｜DSML｜{0}>",
        block);
    EXPECT_EQ(Parse(family, reply),
              "Look.<<f {\"a\": \"x \\\"y\\\"\\n\", \"b\": [1, 2]}>><<g {}>>");
    const Family other = family == Family::kDsml ? Family::kDsml32 : Family::kDsml;
    EXPECT_EQ(Parse(other, reply), reply);
  }
}

TEST(ReplyParser, DsmlWithSpaces) {
  const std::string reply =
      "Look.\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n"
      "<｜DSML｜ parameter name=\"a\" string=\"true\">x \"y\"\n</｜DSML｜ parameter>\n"
      "<｜DSML｜ parameter name=\"b\" string=\"false\">[1, 2]</｜DSML｜ parameter>\n"
      "<｜DSML｜ parameter name=\"c\" string=\"true\">3</｜DSML｜ parameter>\n"
      "</｜DSML｜ invoke>\n<｜DSML｜ invoke name=\"g\">\n\n</｜DSML｜ invoke>\n</｜DSML｜ calls>";
  const std::string_view read =
      "Look.<<f {\"a\": \"x \\\"y\\\"\\n\", \"b\": [1, 2], \"c\": \"3\"}>><<g {}>>";
  EXPECT_EQ(Parse(Family::kDsml41, reply), read);
  const Tools tools;
  for (size_t cut = 0; cut <= reply.size(); ++cut) {
    ReplyParser parser(Of(Family::kDsml41), "x</think>", &tools);
    std::vector<ReplyEvent> events;
    parser.Push(std::string_view(reply).substr(0, cut), events);
    parser.Push(std::string_view(reply).substr(cut), events);
    parser.Finish(events);
    EXPECT_EQ(Line(events), read) << cut;
  }
  // Each one's tags are text for the other.
  EXPECT_EQ(Parse(Family::kDsml, reply), reply);
  const std::string_view unspaced =
      "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>";
  EXPECT_EQ(Parse(Family::kDsml41, unspaced), unspaced);
  for (const std::string_view text :
       {"<｜DSML｜ calls>", "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n</｜DSML｜invoke>",
        "<｜DSML｜ calls><｜DSML｜ invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" "
        "string=\"true\">1</｜DSML｜parameter></｜DSML｜ invoke>"}) {
    EXPECT_EQ(Parse(Family::kDsml41, text), text);
  }
}

TEST(ReplyParser, Glm) {
  EXPECT_EQ(Parse(Family::kGlm,
                  "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>12</arg_value>\n"
                  "<arg_key>text</arg_key>\n<arg_value>12</arg_value>\n"
                  "<arg_key>b</arg_key>\n<arg_value>some words</arg_value>\n</tool_call>"),
            "<<f {\"a\": 12, \"text\": \"12\", \"b\": \"some words\"}>>");
}

TEST(ReplyParser, QwenXml) {
  EXPECT_EQ(Parse(Family::kQwenXml,
                  "<tool_call>\n<function=f>\n<parameter=a>\n12\n</parameter>\n"
                  "<parameter=text>\nx\n\ny\n</parameter>\n</function>\n</tool_call>"),
            "<<f {\"a\": 12, \"text\": \"x\\n\\ny\"}>>");
}

// Line breaks in a value belong to it.
TEST(ReplyParser, Mimo) {
  EXPECT_EQ(Parse(Family::kMimo,
                  "So:<tool_call>\n<function=f>\n<parameter=a>12</parameter>\n"
                  "<parameter=text>\nx\n\ny\n</parameter>\n</function>\n</tool_call>"
                  "<tool_call>\n<function=g>\n</function>\n</tool_call>"),
            "So:<<f {\"a\": 12, \"text\": \"\\nx\\n\\ny\\n\"}>><<g {}>>");
}

TEST(ReplyParser, MiniMax) {
  EXPECT_EQ(
      Parse(Family::kMiniMax,
            "So:\n<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">12</parameter>"
            "\n<parameter name=\"text\">x\n\ny</parameter>\n</invoke>\n"
            "<invoke name=\"g\">\n</invoke>\n</minimax:tool_call>"),
      "So:<<f {\"a\": 12, \"text\": \"x\\n\\ny\"}>><<g {}>>");
  for (const std::string_view text :
       {"<minimax:tool_call>", "<minimax:tool_call>\n<invoke name=\"nobody\">\n</invoke>",
        "<minimax:tool_call><invoke name=\"f\"><parameter>1</parameter></invoke>"}) {
    EXPECT_EQ(Parse(Family::kMiniMax, text), text);
  }
}

TEST(ReplyParser, Gemma) {
  EXPECT_EQ(
      Parse(Family::kGemma,
            "So:\n<|tool_call>call:f{a:12,text:<|\"|>x, {\"y\"}\n<|\"|>,b:[1,<|\"|>z<|\"|>],c:{"
            "d:true,<|\"|>e f<|\"|>:null}}<tool_call|><|tool_call>call:g{}<tool_call|>"),
      "So:<<f {\"a\": 12, \"text\": \"x, {\\\"y\\\"}\\n\", \"b\": [1, \"z\"], \"c\": {\"d\": true, "
      "\"e f\": null}}>><<g {}>>");
  EXPECT_EQ(Parse(Family::kGemma, "<|tool_call>call:f{a:word}<tool_call|> and"),
            "<<f {\"a\": \"word\"}>> and");
  for (const std::string_view text :
       {"<|tool_call>", "<|tool_call>call:nobody{}<tool_call|>", "<|tool_call>f{}<tool_call|>",
        "<|tool_call>call:f{a}<tool_call|>", "<|tool_call>call:f{a:1<tool_call|>",
        "<|tool_call>call:f{a:1}}<tool_call|>", "<|tool_call>call:f{a:<|\"|>b}<tool_call|>"}) {
    EXPECT_EQ(Parse(Family::kGemma, text), text);
  }
  const std::string brackets(100, '[');
  const std::string deep = "<|tool_call>call:f{a:" + brackets + "<tool_call|>";
  EXPECT_EQ(Parse(Family::kGemma, deep), deep);
}

TEST(ReplyParser, ReasoningOfGemma) {
  EXPECT_EQ(Parse(Family::kGemma, "<|channel>thought\na <think>\n<channel|>c"), "(a <think>)c");
  EXPECT_EQ(Parse(Family::kGemma, "c <think>", "x<|channel>thought\n<channel|>"), "c <think>");
  EXPECT_EQ(Parse(Family::kGemma, "a<channel|>c", "x<|channel>thought\n"), "(a)c");
}

TEST(ReplyParser, Kimi) {
  EXPECT_EQ(Parse(Family::kKimi,
                  "Hm<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"
                  "<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|><|tool_call_begin|>"
                  "functions.g:1<|tool_call_argument_begin|>{}<|tool_call_end|>"
                  "<|tool_calls_section_end|>"),
            "Hm<<f#functions.f:0 {\"a\": 1}>><<g#functions.g:1 {}>>");
}

TEST(ReplyParser, WithoutToolsCallsAreText) {
  const std::string reply = "<think>\na\n</think>\n\n<tool_call>{\"name\": \"f\"}</tool_call>";
  EXPECT_EQ(Parse(Of(Family::kHermes), "", reply, nullptr, 1),
            "(a)<tool_call>{\"name\": \"f\"}</tool_call>");
}

}  // namespace
}  // namespace aster::chat
