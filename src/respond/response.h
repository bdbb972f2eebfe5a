// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One response: from a prompt to an engine's request, and from the engine's tokens to a listener.
// Commands, servers and ensembles all answer with it. Must not know HTTP, API dialects, the
// terminal, nor which engine computes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/reply_parser.h"
#include "engine/request.h"
#include "grammar/token_mask.h"
#include "respond/conversation.h"
#include "respond/prompt.h"
#include "respond/reply.h"

namespace aster::respond {

// Used by one thread at a time.
class Response {
 public:
  // Model, prompt and listener outlive it. `masks` are the prompt's (MakeMasks), or null.
  Response(const Model& model, Settings settings, const Prompt& prompt,
           const std::shared_ptr<grammar::MaskCache>& masks, Listener& listener);

  // The request for a sequence whose history is the prompt's tokens. This object outlives the
  // request, which keeps `owner` (or null) alive.
  engine::Request MakeRequest(std::shared_ptr<const void> owner = nullptr);

  // Sends the forced beginning of the response to the listener, once: the prompt was accepted.
  void Begin();
  // Ends the response with what was just sent, for the reason of a limit. Text that was held back,
  // as it may begin a stop string or markup, is dropped.
  void Cut() { is_cut_ = true; }
  // Whether the listener needs no more: the request may be cancelled, and then counts as completed.
  bool is_complete() const { return is_complete_ || is_cut_; }

 private:
  void OnToken(const engine::Delta& delta);
  void OnFinish(const engine::Finish& finish);
  Status StatusOf(const engine::Finish& finish) const;
  EndReason ReasonOf(const engine::Finish& finish) const;
  Usage UsageOf(const engine::Finish& finish) const;

  std::vector<chat::ReplyEvent> Read(std::string_view text, bool is_end);
  void KeepWanted(std::vector<chat::ReplyEvent>& events);
  void Follow(std::vector<chat::ReplyEvent>& events);
  bool IsNewCallId(std::string_view id) const;
  std::string NewCallId() const;

  void AddUnsent(const engine::Choice& choice);
  std::vector<ResponseToken> TakeSent();
  std::vector<ResponseToken> TakeLast(const engine::Finish& finish);

  // Constant after construction.
  const Model& model_;
  const Settings settings_;
  const Prompt& prompt_;
  const std::shared_ptr<grammar::TokenMasks> masks_;  // null: free text
  Listener& listener_;

  std::unique_ptr<chat::ReplyParser> parser_;  // null: the prompt is raw
  bool has_begun_ = false;
  bool is_reasoning_ = false;
  bool has_calls_ = false;
  bool has_ended_call_ = false;
  bool is_complete_ = false;
  bool is_cut_ = false;
  std::vector<std::string> call_ids_;
  uint64_t reasoning_tokens_ = 0;
  std::vector<ResponseToken> unsent_;  // their text has not been sent yet
  size_t sent_bytes_ = 0;              // of the response
  size_t taken_bytes_ = 0;             // of tokens before unsent_
};

}  // namespace aster::respond
