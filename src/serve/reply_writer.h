// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How an answer goes back to a client: one writer for each dialect, streaming or at once. Must not
// know how answers are made.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "chat/reply_parser.h"
#include "respond/reply.h"
#include "serve/ask.h"
#include "serve/problem.h"
#include "serve/reply_stream.h"

namespace aster::serve {

using respond::Call;
using respond::EndReason;
using respond::SpokenToken;
using respond::Usage;

// How each API says what is wrong.
enum class ProblemForm : uint8_t { kOpenAi, kAnthropic, kOllama };

using JsonPtr = std::shared_ptr<const nlohmann::ordered_json>;

// What one choice has come to.
struct ChoiceReply : respond::Reply {
  EndReason reason = EndReason::kStop;
  std::string stop_string = {};
  JsonPtr ensemble = nullptr;  // how several models came to it; null: one wrote it
};

// How much of a prompt is computed.
struct PromptProgress {
  uint64_t done = 0;  // tokens
  uint64_t total = 0;
  int64_t ns = 0;  // since the request came
};

// Called by one thread at a time, in this order: anything of Say, EndChoice for each choice,
// Finish; or, at any time, Fail, and nothing after it. Calls' events have ids.
class ReplyWriter {
 public:
  virtual ~ReplyWriter() = default;
  // Nothing is wrong with the request, and it waits for its turn: a stream shows signs of life from
  // here on. Before all others, if at all.
  virtual void Await() {}
  // The prompts are known to be fine, and computing begins: of all of them are known how many
  // tokens there are, and of the first one how many were cached.
  virtual void Begin(const Usage& usage) = 0;
  // How far the first prompt is, where that is wanted.
  virtual void Progress(const PromptProgress& /*progress*/) {}
  virtual void Say(size_t choice, std::span<const chat::ReplyEvent> events,
                   std::span<const SpokenToken> tokens) = 0;
  // Who wrote the choice that comes, and why it was taken: of an ensemble, before all else of it.
  virtual void Explain(size_t /*choice*/, JsonPtr /*ensemble*/) {}
  virtual void EndChoice(size_t choice, EndReason reason, const std::string& stop_string) = 0;
  virtual void Finish(const Usage& usage) = 0;
  virtual void Fail(const Problem& problem) = 0;
};

// Who a reply is about, and to whom it goes.
struct ReplyFrame {
  std::shared_ptr<ReplyStream> stream;
  std::string id;     // "chatcmpl-…"
  std::string model;  // as the client called it
  int64_t created_s = 0;
  std::string fingerprint = {};  // of what computes; empty: not known
};

// A reply in pieces: begins it, and keeps it alive, as its format wants it.
class PiecesOfReply {
 public:
  enum class Format : uint8_t {
    kEvents,  // server-sent
    kLines,   // each a JSON document
  };
  PiecesOfReply(std::shared_ptr<ReplyStream> stream, Format format);

  void KeepAlive();
  void Write(std::string_view bytes);
  void End() { stream_->End(); }
  // From here on this is the sign of life, where a format has one of its own.
  void SetPulse(std::string_view bytes);
  // Sends the problem as a whole reply; false where pieces of one have been sent.
  bool Refuse(const Problem& problem, ProblemForm form);

 private:
  const std::shared_ptr<ReplyStream> stream_;
  const Format format_;
  const std::string content_type_;
};

// Puts together what is said, for writers that answer at once.
class CollectingWriter : public ReplyWriter {
 public:
  CollectingWriter(ReplyFrame frame, size_t choices)
      : frame_(std::move(frame)), replies_(choices) {}

  void Begin(const Usage& /*usage*/) override {}
  void Say(size_t choice, std::span<const chat::ReplyEvent> events,
           std::span<const SpokenToken> tokens) override;
  void Explain(size_t choice, JsonPtr ensemble) override {
    replies_[choice].ensemble = std::move(ensemble);
  }
  void EndChoice(size_t choice, EndReason reason, const std::string& stop_string) override;

 protected:
  void SendJson(int status, const nlohmann::ordered_json& json) const;

  const ReplyFrame frame_;
  std::vector<ChoiceReply> replies_;
};

// "2026-01-31T12:00:00Z"
std::string TimeText(int64_t seconds);

// Text of a JSON document; bytes that are no characters become U+FFFD.
std::string DumpJson(const nlohmann::ordered_json& json);

// "data: {…}\n\n", with a line that names the event where there is one.
std::string ServerEvent(std::string_view event, const nlohmann::ordered_json& json);

// Sends the problem as a whole reply.
void SendProblem(ReplyStream& stream, const Problem& problem, ProblemForm form);
nlohmann::ordered_json ProblemJson(const Problem& problem, ProblemForm form,
                                   const std::string& request_id = "");

}  // namespace aster::serve
