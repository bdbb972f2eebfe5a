// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/harmony_reply.h"

#include <algorithm>
#include <utility>

namespace aster::chat {
namespace {

using Kind = ReplyEvent::Kind;

constexpr std::string_view kTurn = "<|start|>assistant";
constexpr std::string_view kStart = "<|start|>";
constexpr std::string_view kChannel = "<|channel|>";
constexpr std::string_view kMessage = "<|message|>";
constexpr std::string_view kRecipient = "to=";
constexpr std::string_view kFunctions = "functions.";
// Possible beginnings of a header; after a prompt it continues from its role.
constexpr std::string_view kHeaderBegins[] = {kStart, kChannel, kMessage, kRecipient};
// Possible ends of a body.
constexpr std::string_view kBodyEnds[] = {"<|end|>", "<|call|>", "<|return|>", kStart};
// Longer headers are text.
constexpr size_t kMaxHeader = 512;

std::string_view TrimLeftSpaces(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

bool MayBeHeader(std::string_view text) {
  if (text.size() > kMaxHeader || text.find('\n') != std::string_view::npos) return false;
  const std::string_view said = TrimLeftSpaces(text);
  return std::ranges::any_of(kHeaderBegins, [&](std::string_view begin) {
    return begin.starts_with(said) || said.starts_with(begin);
  });
}

// The text after a mark, up to a space or the next mark; empty if there is no mark.
std::string_view WordAfter(std::string_view header, std::string_view mark) {
  const size_t at = header.find(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = header.substr(at + mark.size());
  return rest.substr(0, std::min(rest.find_first_of(" <"), rest.size()));
}

}  // namespace

HarmonyReply::HarmonyReply(std::string_view prompt, const Tools* tools) : tools_(tools) {
  const size_t turn = prompt.rfind(kTurn);
  if (turn == std::string_view::npos) return;
  // The part of the turn in the prompt is not reported again.
  std::vector<ReplyEvent> said;
  Push(prompt.substr(turn + kTurn.size()), said);
}

void HarmonyReply::Push(std::string_view text, std::vector<ReplyEvent>& events) {
  for (const char c : text) Feed(c, events);
}

void HarmonyReply::Feed(char c, std::vector<ReplyEvent>& events) {
  held_ += c;
  in_body_ ? InBody(events) : InHeader(events);
}

void HarmonyReply::InHeader(std::vector<ReplyEvent>& events) {
  if (held_.ends_with(kMessage)) return BeginMessage(std::exchange(held_, ""), events);
  if (MayBeHeader(held_)) return;
  // Not a header: it is text, and the next mark may begin another. The mark that began it is text
  // as well: reading it again would begin the same header again.
  const std::string text = std::exchange(held_, "");
  const std::string_view said = TrimLeftSpaces(text);
  const size_t begun = said.starts_with(kStart) ? text.size() - said.size() + kStart.size() : 0;
  BeginText(Kind::kContent, events);
  Emit(std::string_view(text).substr(0, begun), events);
  for (const char c : std::string_view(text).substr(begun)) Feed(c, events);
}

void HarmonyReply::BeginMessage(std::string_view header, std::vector<ReplyEvent>& events) {
  const std::string_view recipient = WordAfter(header, kRecipient);
  if (recipient.empty()) {
    const bool reasons = WordAfter(header, kChannel) == "analysis";
    return BeginText(reasons ? Kind::kReasoning : Kind::kContent, events);
  }
  const bool is_function = recipient.starts_with(kFunctions);
  const std::string_view name = recipient.substr(is_function ? kFunctions.size() : 0);
  const bool is_offered =
      is_function && tools_ != nullptr && (!tools_->has_tool || tools_->has_tool(name));
  if (!is_offered) {
    // A call of an unknown tool is text.
    BeginText(Kind::kContent, events);
    return Emit(header, events);
  }
  in_body_ = true;
  kind_ = Kind::kArguments;
  has_arguments_ = false;
  escaper_ = ControlEscaper();
  AddEvent(events, {.kind = Kind::kCallBegin, .text = std::string(name)});
}

void HarmonyReply::BeginText(Kind kind, std::vector<ReplyEvent>& events) {
  in_body_ = true;
  kind_ = kind;
  // Messages of the same kind are paragraphs.
  if (kind == Kind::kReasoning ? has_reasoning_ : has_content_) Emit("\n\n", events);
}

void HarmonyReply::Emit(std::string_view text, std::vector<ReplyEvent>& events) {
  if (text.empty()) return;
  has_arguments_ = has_arguments_ || kind_ == Kind::kArguments;
  has_reasoning_ = has_reasoning_ || kind_ == Kind::kReasoning;
  has_content_ = has_content_ || kind_ == Kind::kContent;
  AddEvent(events,
           {.kind = kind_,
            .text = kind_ == Kind::kArguments ? escaper_.Escaped(text) : std::string(text)});
}

void HarmonyReply::InBody(std::vector<ReplyEvent>& events) {
  while (!held_.empty()) {
    for (const std::string_view end : kBodyEnds) {
      if (held_ != end) continue;
      EndMessage(events);
      held_ = end == kStart ? end : "";
      return;
    }
    const auto may_end = [&](std::string_view end) { return end.starts_with(held_); };
    if (std::ranges::any_of(kBodyEnds, may_end)) return;
    Emit(std::string_view(held_).substr(0, 1), events);
    held_.erase(0, 1);
  }
}

void HarmonyReply::EndMessage(std::vector<ReplyEvent>& events) {
  in_body_ = false;
  if (kind_ != Kind::kArguments) return;
  if (!has_arguments_) Emit("{}", events);
  AddEvent(events, {.kind = Kind::kCallEnd});
}

void HarmonyReply::Finish(std::vector<ReplyEvent>& events) {
  if (in_body_) {
    Emit(std::exchange(held_, ""), events);
    return EndMessage(events);
  }
  // An unfinished header is markup if it has begun with a mark.
  const std::string_view said = TrimLeftSpaces(held_);
  if (said.starts_with(kStart) || said.starts_with(kChannel)) return held_.clear();
  kind_ = Kind::kContent;
  Emit(std::exchange(held_, ""), events);
}

}  // namespace aster::chat
