// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Takes a reply of gpt-oss apart: messages, each with a header that names its channel (analysis is
// reasoning, final the answer, commentary what is said beside it) or the tool that it calls. The
// same text gives the same, in whatever pieces it comes. Must not know other families.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/reply_parser.h"

namespace aster::chat {

// Not for concurrent use.
class HarmonyReply {
 public:
  // `prompt` is what the reply follows: it may end within a message. Without tools (null) calls are
  // text. Tools outlive it.
  HarmonyReply(std::string_view prompt, const Tools* tools);

  void Push(std::string_view text, std::vector<ReplyEvent>& events);
  // A call that was under way ends as far as it came.
  void Finish(std::vector<ReplyEvent>& events);

 private:
  void Feed(char c, std::vector<ReplyEvent>& events);
  void InHeader(std::vector<ReplyEvent>& events);
  void InBody(std::vector<ReplyEvent>& events);
  void BeginMessage(std::string_view header, std::vector<ReplyEvent>& events);
  void BeginText(ReplyEvent::Kind kind, std::vector<ReplyEvent>& events);
  void Say(std::string_view text, std::vector<ReplyEvent>& events);
  void EndMessage(std::vector<ReplyEvent>& events);

  const Tools* const tools_;
  bool in_body_ = false;
  ReplyEvent::Kind kind_ = ReplyEvent::Kind::kContent;  // of the body
  std::string held_;            // the header so far, or what may become markup
  bool has_arguments_ = false;  // of the call under way
  bool has_thought_ = false;
  bool has_said_ = false;
};

}  // namespace aster::chat
