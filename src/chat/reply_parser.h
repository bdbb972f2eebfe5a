// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Parses a model's reply as it comes: reasoning, text and tool calls. The events do not depend on
// how the text is cut into pieces, and nothing is lost: text that only begins like markup is text,
// except behind a call at the end of a reply that was cut off. Must not know tokens, nor the
// dialects of servers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/call_reader.h"
#include "chat/dialect.h"
#include "chat/json_scanner.h"

namespace aster::chat {

struct ReplyEvent {
  enum class Kind : uint8_t {
    kContent,
    kReasoning,
    kCallBegin,  // text is the tool's name
    // A piece of the call's JSON, byte for byte but for control characters within strings, which
    // are escaped.
    kArguments,
    kCallEnd,
  };
  Kind kind = Kind::kContent;
  std::string text = {};
  std::string id = {};  // of a call that begins, if the model gave it one

  bool operator==(const ReplyEvent&) const = default;
};

// Appends an event, or joins it with the last one if that has the same kind.
void AddEvent(std::vector<ReplyEvent>& events, ReplyEvent event);

class HarmonyReply;

// Not for concurrent use.
class ReplyParser final : private CallSink {
 public:
  // `prompt` comes before the reply: its end says whether the model is thinking already. If no
  // tools are offered (`tools` null), calls are text. Tools outlive the parser.
  ReplyParser(const Dialect& dialect, std::string_view prompt, const Tools* tools);
  ~ReplyParser() override;

  void Push(std::string_view text, std::vector<ReplyEvent>& events);
  // The reply ends here. An unfinished call ends as it is.
  void Finish(std::vector<ReplyEvent>& events);

 private:
  enum class State : uint8_t {
    kStart,  // only white space yet
    kReasoning,
    kContent,
    kSection,  // before a call or the end of the calls
    kCall,
  };

  void BeginCall(std::string_view name, std::string_view id) override;
  void Arguments(std::string_view piece) override;
  void EndCall() override;

  void Feed(char c);
  void Dispatch(char c);
  void AtStart(char c);
  void InText(char c);
  bool MatchesText();
  void InSection(char c);
  void InListSection(char c);
  void InCall(char c);
  void OpenCall(std::unique_ptr<CallReader> reader);
  void LeaveSection();
  void Emit(ReplyEvent::Kind kind, std::string_view text);
  ReplyEvent::Kind text_kind() const {
    return state_ == State::kReasoning ? ReplyEvent::Kind::kReasoning : ReplyEvent::Kind::kContent;
  }
  bool is_family(Family family) const { return family_ == family; }

  // Constant after construction.
  const Dialect dialect_;
  const Family family_;  // plain if there are no tools
  const Tools* const tools_;
  std::string calls_open_;

  State state_ = State::kStart;
  std::string optional_;  // white space that is omitted if it comes now
  size_t optional_matched_ = 0;
  std::string held_;  // possible markup
  // Text since the last event, within calls: becomes content if there is no call.
  std::string raw_;
  std::unique_ptr<CallReader> reader_;
  ControlEscaper escaper_;                     // of the current call's arguments
  std::unique_ptr<HarmonyReply> harmony_;      // parses everything if the family is Harmony
  bool in_list_ = false;                       // for Mistral
  bool any_call_ = false;                      // in this section
  std::vector<ReplyEvent>* events_ = nullptr;  // while Push and Finish run
};

}  // namespace aster::chat
