// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The content of a response, in pieces as they come and as a whole: text, reasoning, tool calls,
// log-probabilities. Must not know how a response is made, nor how it is shown.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/reply_parser.h"
#include "engine/request.h"

namespace aster::respond {

struct TokenWithLogprob {
  int32_t id = -1;
  std::string bytes;
  float logprob = 0;
};

// A token of the response with its log-probability, and the most likely alternatives.
struct ResponseToken : TokenWithLogprob {
  std::vector<TokenWithLogprob> top = {};
};

enum class EndReason : uint8_t { kStop, kStopString, kLength, kCalls };

// How a response was computed on nodes, with predicted and actual times. 0: unknown.
struct PlanUsed {
  std::string plan;             // as a user would type it
  bool is_direct = false;       // the decode nodes have computed the prompt, too
  uint64_t held_tokens = 0;     // tokens of the prompt whose KV rows the nodes had
  uint64_t fetched_tokens = 0;  // of these, rows that came from other nodes
  uint64_t others = 0;          // requests that ran when it began
  double fetch_s = 0;           // until the rows had arrived, before it began to run
  double first_token_s = 0;     // since it began to run
  double token_s = 0;           // between two tokens
  double actual_fetch_s = 0;
  double actual_first_token_s = 0;
  double actual_token_s = 0;
};

struct Usage {
  uint64_t prompt = 0;     // tokens
  uint64_t cached = 0;     // of the prompt
  uint64_t answer = 0;     // tokens of the response, with its end token
  uint64_t reasoning = 0;  // of these, about this number are reasoning
  uint64_t drafted = 0;    // draft tokens that were checked
  uint64_t accepted = 0;   // of these, draft tokens that were accepted
  engine::RequestTimes times = {};
  std::shared_ptr<const PlanUsed> plan = nullptr;  // of the first choice; null: one machine

  uint64_t rejected() const { return drafted < accepted ? 0 : drafted - accepted; }
};

// The output of one step. Events of calls have ids.
struct Piece {
  std::string_view text = {};  // as the model writes it
  std::span<const chat::ReplyEvent> events = {};
  std::span<const ResponseToken> tokens = {};  // if log-probabilities are wanted
};

struct End {
  const engine::Finish& finish;
  EndReason reason = EndReason::kStop;
  bool is_cancelled = false;
  Usage usage = {};
  Piece last = {};     // the text held back so far
  Status status = {};  // an error: the response is void, also pieces sent before
};

// One thread calls it, in this order: any of OnPrefill, OnToken and OnPiece, then OnEnd, once.
class Listener {
 public:
  virtual ~Listener() = default;
  // Computed tokens of the prompt, the cached ones first.
  virtual void OnPrefill(uint64_t /*done*/, uint64_t /*total*/) {}
  // A token was chosen; its text follows, now or later.
  virtual void OnToken(const engine::Delta& /*delta*/) {}
  virtual void OnPiece(const Piece& piece) = 0;
  virtual void OnEnd(const End& end) = 0;
};

struct Call {
  std::string id;
  std::string name;
  std::string arguments;  // JSON
};

// A whole response.
struct Reply {
  std::string content;
  std::string reasoning;
  std::vector<Call> calls;
  std::vector<ResponseToken> tokens;  // if log-probabilities are wanted

  void Add(std::span<const chat::ReplyEvent> events, std::span<const ResponseToken> more = {});
};

}  // namespace aster::respond
