// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Takes a model's reply apart as it comes: reasoning, text and tool calls. The same text gives the
// same, in whatever pieces it comes, and nothing is lost: what only begins like markup comes out as
// text. Must not know tokens, nor the dialects of servers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/call_reader.h"
#include "chat/dialect.h"

namespace aster::chat {

struct ReplyEvent {
  enum class Kind : uint8_t {
    kContent,
    kThinking,
    kCallBegin,  // text is the tool's name
    kArguments,  // a piece of the call's JSON, byte for byte
    kCallEnd,
  };
  Kind kind = Kind::kContent;
  std::string text = {};
  std::string id = {};  // of a call that begins, where the model gave it one

  bool operator==(const ReplyEvent&) const = default;
};

// Appends, and joins pieces of the same kind.
void AddEvent(std::vector<ReplyEvent>& events, ReplyEvent event);

class HarmonyReply;

// Not for concurrent use.
class ReplyParser final : private CallSink {
 public:
  // `prompt` is what the reply follows: its end says whether the model is thinking already. Where
  // no tools are offered (`tools` null) calls are text. Tools outlive the parser.
  ReplyParser(const Dialect& dialect, std::string_view prompt, const Tools* tools);
  ~ReplyParser() override;

  void Push(std::string_view text, std::vector<ReplyEvent>& events);
  // The reply ends here. A call that was under way ends as far as it came.
  void Finish(std::vector<ReplyEvent>& events);

 private:
  enum class State : uint8_t {
    kStart,  // nothing but white space yet
    kThinking,
    kContent,
    kSection,  // where a call may begin, or the calls end
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
    return state_ == State::kThinking ? ReplyEvent::Kind::kThinking : ReplyEvent::Kind::kContent;
  }
  bool is_family(Family family) const { return family_ == family; }

  // Constant after construction.
  const Dialect dialect_;
  const Family family_;  // plain where there are no tools
  const Tools* const tools_;
  std::string calls_open_;

  State state_ = State::kStart;
  std::string optional_;  // white space that is left out if it comes now
  size_t optional_matched_ = 0;
  std::string held_;  // what may become markup
  // Since the last event, in calls: comes out as content if there is none.
  std::string raw_;
  std::unique_ptr<CallReader> reader_;
  std::unique_ptr<HarmonyReply> harmony_;      // does it all where the family is that
  bool in_list_ = false;                       // of Mistral's
  bool any_call_ = false;                      // in this section
  std::vector<ReplyEvent>* events_ = nullptr;  // while Push and Finish run
};

}  // namespace aster::chat
