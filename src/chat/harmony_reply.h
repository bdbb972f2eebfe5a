// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Parses a reply of gpt-oss: messages, each with a header that names its channel (analysis is
// reasoning, final the answer, commentary further text) or the tool that it calls. The events do
// not depend on how the text is cut into pieces. Must not know other families.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/json_scanner.h"
#include "chat/reply_parser.h"

namespace aster::chat {

// Not for concurrent use.
class HarmonyReply {
 public:
  // `prompt` comes before the reply: it may end within a message. Without tools (null) calls are
  // text. Tools outlive it.
  HarmonyReply(std::string_view prompt, const Tools* tools);

  void Push(std::string_view text, std::vector<ReplyEvent>& events);
  // The reply ends. An unfinished call ends as it is.
  void Finish(std::vector<ReplyEvent>& events);

 private:
  void Feed(char c, std::vector<ReplyEvent>& events);
  void InHeader(std::vector<ReplyEvent>& events);
  void InBody(std::vector<ReplyEvent>& events);
  void BeginMessage(std::string_view header, std::vector<ReplyEvent>& events);
  void BeginText(ReplyEvent::Kind kind, std::vector<ReplyEvent>& events);
  void Emit(std::string_view text, std::vector<ReplyEvent>& events);
  void EndMessage(std::vector<ReplyEvent>& events);

  const Tools* const tools_;
  bool in_body_ = false;
  ReplyEvent::Kind kind_ = ReplyEvent::Kind::kContent;  // of the body
  std::string held_;                                    // the header so far, or possible markup
  bool has_arguments_ = false;                          // of the current call
  ControlEscaper escaper_;                              // of its arguments
  bool has_reasoning_ = false;
  bool has_content_ = false;
};

}  // namespace aster::chat
