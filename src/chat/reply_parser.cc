// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/reply_parser.h"

#include <algorithm>
#include <utility>

#include "chat/harmony_reply.h"

namespace aster::chat {
namespace {

using Kind = ReplyEvent::Kind;

constexpr std::string_view kPythonTag = "<|python_tag|>";
constexpr std::string_view kPhiCallsEnd = "<|/tool_call|>";
constexpr std::string_view kSpace = " \t\r\n";

// The opening of one call within the calls, and the end of all; empty if there is none.
struct SectionMarks {
  std::string_view call_open;
  std::string_view close;
};

SectionMarks MarksOf(Family family) {
  switch (family) {
    case Family::kDeepSeek:
      return {"<｜tool▁call▁begin｜>", "<｜tool▁calls▁end｜>"};
    case Family::kDsml32:
      return {"<｜DSML｜invoke name=\"", "</｜DSML｜function_calls>"};
    case Family::kDsml:
      return {"<｜DSML｜invoke name=\"", "</｜DSML｜tool_calls>"};
    case Family::kDsml41:
      return {"<｜DSML｜ invoke name=\"", "</｜DSML｜ calls>"};
    case Family::kKimi:
      return {"<|tool_call_begin|>", "<|tool_calls_section_end|>"};
    case Family::kMiniMax:
      return {"<invoke name=\"", "</minimax:tool_call>"};
    case Family::kLlama:
      return {"{", ""};
    default:
      return {CallsOpen(family), ""};
  }
}

// Families with the same mark for the opening of the calls and of each call.
bool OpensCallAtOnce(Family family) {
  return family == Family::kHermes || family == Family::kGlm || family == Family::kQwenXml ||
         family == Family::kMimo || family == Family::kGemma;
}

std::string_view TrimLeft(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kSpace), text.size()));
}

bool IsBeginning(std::string_view part, std::string_view whole) {
  return part.size() < whole.size() && whole.starts_with(part);
}

}  // namespace

void AddEvent(std::vector<ReplyEvent>& events, ReplyEvent event) {
  const bool is_text = event.kind == Kind::kContent || event.kind == Kind::kReasoning ||
                       event.kind == Kind::kArguments;
  if (is_text && event.text.empty()) return;
  if (is_text && !events.empty() && events.back().kind == event.kind) {
    events.back().text += event.text;
    return;
  }
  events.push_back(std::move(event));
}

ReplyParser::ReplyParser(const Dialect& dialect, std::string_view prompt, const Tools* tools)
    : dialect_(dialect),
      family_(tools == nullptr ? Family::kPlain : dialect.family),
      tools_(tools),
      calls_open_(CallsOpen(family_)) {
  if (dialect.family == Family::kHarmony) {
    harmony_ = std::make_unique<HarmonyReply>(prompt, tools);
    return;
  }
  if (!dialect.has_reasoning) return;
  const size_t end = prompt.find_last_not_of(kSpace);
  const std::string_view said = prompt.substr(0, end == std::string_view::npos ? 0 : end + 1);
  if (said.ends_with(ReasoningOpen(dialect.family))) {
    state_ = State::kReasoning;
    if (said.size() == prompt.size()) optional_ = dialect.reasoning_open_tail;
  } else if (prompt.ends_with(ReasoningClose(dialect.family))) {
    optional_ = dialect.reasoning_close_tail;
  }
}

ReplyParser::~ReplyParser() = default;

void ReplyParser::Emit(Kind kind, std::string_view text) {
  AddEvent(*events_, {.kind = kind, .text = std::string(text)});
}

void ReplyParser::BeginCall(std::string_view name, std::string_view id) {
  raw_.clear();
  any_call_ = true;
  escaper_ = ControlEscaper();
  AddEvent(*events_, {.kind = Kind::kCallBegin, .text = std::string(name), .id = std::string(id)});
}

void ReplyParser::Arguments(std::string_view piece) {
  Emit(Kind::kArguments, escaper_.Escaped(piece));
}

void ReplyParser::EndCall() { AddEvent(*events_, {.kind = Kind::kCallEnd}); }

void ReplyParser::Push(std::string_view text, std::vector<ReplyEvent>& events) {
  if (harmony_ != nullptr) return harmony_->Push(text, events);
  events_ = &events;
  for (const char c : text) Feed(c);
}

void ReplyParser::Feed(char c) {
  if (!optional_.empty()) {
    if (c == optional_[optional_matched_]) {
      if (++optional_matched_ == optional_.size()) optional_.clear();
      return;
    }
    // The white space is not to be omitted: it belongs to the text.
    const std::string begun = optional_.substr(0, optional_matched_);
    optional_.clear();
    for (const char earlier : begun) Dispatch(earlier);
  }
  Dispatch(c);
}

void ReplyParser::Dispatch(char c) {
  switch (state_) {
    case State::kStart:
      return AtStart(c);
    case State::kReasoning:
    case State::kContent:
      return InText(c);
    case State::kSection:
      return is_family(Family::kMistral) || is_family(Family::kPhi) ? InListSection(c)
                                                                    : InSection(c);
    case State::kCall:
      return InCall(c);
  }
}

// Waits until the text can only be one of: reasoning, a call of Llama, content.
void ReplyParser::AtStart(char c) {
  held_ += c;
  const std::string_view said = TrimLeft(held_);
  const bool is_llama = is_family(Family::kLlama);
  if (said.empty()) return;
  if (dialect_.has_reasoning) {
    const std::string_view open = ReasoningOpen(dialect_.family);
    if (IsBeginning(said, open)) return;
    if (said == open) {
      held_.clear();
      state_ = State::kReasoning;
      optional_ = dialect_.reasoning_open_tail;
      optional_matched_ = 0;
      return;
    }
  }
  if (is_llama && IsBeginning(said, kPythonTag)) return;
  if (is_llama && (said == kPythonTag || said == "{")) {
    const bool is_tag = said == kPythonTag;
    raw_ = std::exchange(held_, "");
    if (is_tag) {
      state_ = State::kSection;
    } else {
      OpenCall(MakeCallReader(family_, *tools_));
    }
    return;
  }
  state_ = State::kContent;
  for (const char earlier : std::exchange(held_, "")) Dispatch(earlier);
}

// Whether the held text is, or may become, markup.
bool ReplyParser::MatchesText() {
  if (state_ == State::kReasoning) {
    const std::string_view close = ReasoningClose(dialect_.family);
    const std::string with_lead = dialect_.reasoning_close_lead + std::string(close);
    if (held_ == with_lead || held_ == close) {
      held_.clear();
      state_ = State::kContent;
      optional_ = dialect_.reasoning_close_tail;
      optional_matched_ = 0;
      return true;
    }
    return IsBeginning(held_, with_lead) || IsBeginning(held_, close);
  }
  if (calls_open_.empty()) return false;
  const std::string with_lead = dialect_.call_lead + calls_open_;
  if (held_ == with_lead || held_ == calls_open_) {
    raw_ = std::exchange(held_, "");
    any_call_ = false;
    in_list_ = false;
    if (OpensCallAtOnce(family_)) {
      OpenCall(MakeCallReader(family_, *tools_));
    } else {
      state_ = State::kSection;
    }
    return true;
  }
  return IsBeginning(held_, with_lead) || IsBeginning(held_, calls_open_);
}

void ReplyParser::InText(char c) {
  held_ += c;
  while (!held_.empty() && !MatchesText()) {
    Emit(text_kind(), std::string_view(held_).substr(0, 1));
    held_.erase(0, 1);
  }
}

void ReplyParser::OpenCall(std::unique_ptr<CallReader> reader) {
  reader_ = std::move(reader);
  state_ = State::kCall;
}

// There is no call in the text since the last one: it is content.
void ReplyParser::LeaveSection() {
  state_ = State::kContent;
  for (const char c : std::exchange(raw_, "")) {
    // Not scanned again: the same markup would be found.
    Emit(Kind::kContent, {&c, 1});
  }
}

void ReplyParser::InSection(char c) {
  raw_ += c;
  held_ += c;
  const SectionMarks marks = MarksOf(family_);
  const std::string_view said = TrimLeft(held_);
  // Llama separates calls.
  if (said.empty() || (is_family(Family::kLlama) && any_call_ && said == ";")) {
    if (!said.empty()) held_.clear();
    return;
  }
  if (said == marks.call_open) {
    held_.clear();
    return OpenCall(MakeCallReader(family_, *tools_));
  }
  if (!marks.close.empty() && said == marks.close) {
    held_.clear();
    if (any_call_) raw_.clear();
    return LeaveSection();
  }
  if (IsBeginning(said, marks.call_open) || IsBeginning(said, marks.close)) return;
  // The held beginning of a next call is text, which may contain other calls.
  const std::string held = std::exchange(held_, "");
  raw_.resize(raw_.size() - held.size());
  LeaveSection();
  for (const char earlier : held) Dispatch(earlier);
}

// Calls as a list; for Mistral also one after the other, by name.
void ReplyParser::InListSection(char c) {
  raw_ += c;
  if (kSpace.find(c) != std::string_view::npos) return;
  if (c == '[' && !in_list_ && !any_call_) {
    in_list_ = true;
  } else if (c == '{' && in_list_) {
    OpenCall(MakeCallReader(family_, *tools_));
  } else if (c == ',' && in_list_ && any_call_) {
    // Another one follows.
  } else if (c == ']' && in_list_) {
    if (any_call_) raw_.clear();
    LeaveSection();
    if (any_call_ && is_family(Family::kPhi)) {
      optional_ = kPhiCallsEnd;
      optional_matched_ = 0;
    }
  } else if (!in_list_ && c != '[' && is_family(Family::kMistral)) {
    if (any_call_) {
      raw_.pop_back();
      LeaveSection();
      return Dispatch(c);
    }
    OpenCall(MakeNamedCallReader(*tools_));
    raw_.pop_back();
    InCall(c);
  } else {
    raw_.pop_back();
    LeaveSection();
    Dispatch(c);
  }
}

void ReplyParser::InCall(char c) {
  raw_ += c;
  const CallReader::Verdict verdict = reader_->Feed(c, *this);
  const bool has_begun = reader_->has_begun();
  if (has_begun && verdict != CallReader::Verdict::kBad) raw_.clear();
  if (verdict == CallReader::Verdict::kMore) return;
  reader_.reset();
  if (verdict == CallReader::Verdict::kDone) {
    EndCall();
    state_ = State::kSection;
    return;
  }
  if (has_begun) {
    EndCall();
    raw_ = c;
  }
  // The byte may begin something else.
  raw_.pop_back();
  LeaveSection();
  Dispatch(c);
}

void ReplyParser::Finish(std::vector<ReplyEvent>& events) {
  if (harmony_ != nullptr) return harmony_->Finish(events);
  events_ = &events;
  const std::string begun = optional_.substr(0, optional_matched_);
  optional_.clear();
  for (const char c : begun) Dispatch(c);
  switch (state_) {
    case State::kStart:
    case State::kReasoning:
    case State::kContent:
      Emit(text_kind(), held_);
      break;
    case State::kSection:
    case State::kCall:
      if (state_ == State::kCall && reader_->has_begun()) {
        EndCall();
      } else if (!any_call_) {
        Emit(Kind::kContent, raw_);
      }  // Behind a call, the beginning of another one or of the end of all.
      break;
  }
  held_.clear();
  raw_.clear();
}

}  // namespace aster::chat
