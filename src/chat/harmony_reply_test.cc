// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/harmony_reply.h"

#include <gtest/gtest.h>

namespace aster::chat {
namespace {

using Kind = ReplyEvent::Kind;

// Events as one line: text unchanged, reasoning in (), calls as name{…}.
std::string LineOf(const std::vector<ReplyEvent>& events) {
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
        line += "<<" + event.text + " ";
        break;
      case Kind::kCallEnd:
        line += ">>";
        break;
    }
  }
  return line;
}

std::string ParseHarmony(std::string_view reply, std::string_view prompt = "<|start|>assistant",
                         bool has_tools = true) {
  const Tools tools = {.has_tool = [](std::string_view name) { return name != "nobody"; },
                       .is_string = nullptr};
  std::string whole;
  for (const size_t piece : {reply.size() + 1, size_t{1}, size_t{2}, size_t{3}, size_t{7}}) {
    // ReplyParser parses the replies of all families.
    ReplyParser parser({.family = Family::kHarmony, .has_tools = true, .has_reasoning = true},
                       prompt, has_tools ? &tools : nullptr);
    std::vector<ReplyEvent> events;
    for (size_t at = 0; at < reply.size(); at += piece)
      parser.Push(reply.substr(at, piece), events);
    parser.Finish(events);
    if (piece > reply.size()) whole = LineOf(events);
    EXPECT_EQ(LineOf(events), whole) << piece;
  }
  return whole;
}

TEST(HarmonyReply, ChannelsAreReasoningAndAnswers) {
  EXPECT_EQ(ParseHarmony("<|channel|>analysis<|message|>Hm.<|end|>"
                         "<|start|>assistant<|channel|>final<|message|>Yes<|return|>"),
            "(Hm.)Yes");
  EXPECT_EQ(ParseHarmony("<|channel|>final<|message|>a < b <|en d"), "a < b <|en d");
  EXPECT_EQ(ParseHarmony("<|channel|>commentary<|message|>First.<|end|><|start|>assistant"
                         "<|channel|>final<|message|>Then."),
            "First.\n\nThen.");
  EXPECT_EQ(ParseHarmony(
                "<|channel|>analysis<|message|>a<|start|>assistant<|channel|>analysis<|message|>b"),
            "(a\n\nb)");
}

TEST(HarmonyReply, CallsInBothWaysOfWritingThem) {
  EXPECT_EQ(ParseHarmony(
                "<|channel|>analysis<|message|>Look.<|end|><|start|>assistant<|channel|>commentary "
                "to=functions.find <|constrain|>json<|message|>{\"a\": 1 }<|call|>"),
            "(Look.)<<find {\"a\": 1 }>>");
  EXPECT_EQ(
      ParseHarmony(" to=functions.find<|channel|>commentary json<|message|>{\"a\":1}<|call|>"),
      "<<find {\"a\":1}>>");
  EXPECT_EQ(ParseHarmony("<|channel|>commentary to=functions.find<|message|><|call|>"),
            "<<find {}>>");
  EXPECT_EQ(
      ParseHarmony("<|channel|>commentary to=functions.a<|message|>{}<|end|><|start|>assistant"
                   "<|channel|>commentary to=functions.b<|message|>{\"x"),
      "<<a {}>><<b {\"x>>");
}

TEST(HarmonyReply, WhatIsNoCallIsText) {
  const std::string call = "<|channel|>commentary to=functions.nobody<|message|>";
  EXPECT_EQ(ParseHarmony(call + "{}<|call|>"), call + "{}");
  const std::string find = "<|channel|>commentary to=functions.find<|message|>";
  EXPECT_EQ(ParseHarmony(find + "{}", "<|start|>assistant", /*has_tools=*/false), find + "{}");
  const std::string python = " to=python<|channel|>analysis<|message|>";
  EXPECT_EQ(ParseHarmony(python + "1+1"), python + "1+1");
  for (const std::string_view text :
       {"", "hello", "to", " to be or not", "<|mess", "{\"a\": 1}", "a\n<|channel", "to=x\nz"}) {
    EXPECT_EQ(ParseHarmony(text), text);
  }
}

// This was once read as the same header again and again.
TEST(HarmonyReply, AMarkThatBeginsNoHeaderIsText) {
  EXPECT_EQ(ParseHarmony("<|start|>\n"), "<|start|>\n");
  EXPECT_EQ(ParseHarmony("<|channel|>final<|message|>The mark <|start|> begins\na message."),
            "The mark \n\n<|start|> begins\na message.");
  const std::string many = " <|start|><|start|>" + std::string(600, 'x');
  EXPECT_EQ(ParseHarmony(many), " <|start|>\n\n<|start|>" + std::string(600, 'x'));
  EXPECT_EQ(ParseHarmony("<|start|>a\n<|start|>assistant<|channel|>analysis<|message|>b"),
            "<|start|>a\n(b)");
}

TEST(HarmonyReply, ATruncatedHeaderIsNotText) {
  EXPECT_EQ(ParseHarmony("<|channel|>analysis<|message|>a<|end|><|start|>assis"), "(a)");
  EXPECT_EQ(ParseHarmony("<|channel|>fin"), "");
}

TEST(HarmonyReply, APromptMayEndWithinAMessage) {
  EXPECT_EQ(ParseHarmony("lo", "x<|start|>assistant<|channel|>final<|message|>Hel"), "lo");
  EXPECT_EQ(ParseHarmony("m.<|end|>", "x<|start|>assistant<|channel|>analysis<|message|>"), "(m.)");
}

TEST(HarmonyReply, ControlCharactersInStringsOfArgumentsAreEscaped) {
  const auto call = [](std::string_view arguments) {
    return "<|channel|>commentary to=functions.f <|constrain|>json<|message|>" +
           std::string(arguments) + "<|call|>";
  };
  EXPECT_EQ(ParseHarmony(call("{\n\"a\": \"x\n< \\\"\ty\"}")),
            "<<f {\n\"a\": \"x\\n< \\\"\\ty\"}>>");
  // A line that continues in a shell: a backslash, and the end of the line.
  EXPECT_EQ(ParseHarmony(call("{\"a\": \"x \\\ny\"}")), "<<f {\"a\": \"x \\\\\\ny\"}>>");
}

}  // namespace
}  // namespace aster::chat
