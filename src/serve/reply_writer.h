// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How a client receives an answer: one writer for each dialect, streaming or at once. Must not know
// how answers are made.
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
#include "serve/api_request.h"
#include "serve/problem.h"
#include "serve/reply_stream.h"

namespace aster::serve {

using respond::Call;
using respond::EndReason;
using respond::ResponseToken;
using respond::Usage;

// The form of errors in each API.
enum class ProblemForm : uint8_t { kOpenAi, kAnthropic, kOllama };

using JsonPtr = std::shared_ptr<const nlohmann::ordered_json>;

// The collected reply of one choice.
struct ChoiceReply : respond::Reply {
  EndReason reason = EndReason::kStop;
  std::string stop_string = {};
  JsonPtr ensemble = nullptr;  // how several models made it; null: one model did
};

// How much of a prompt is computed.
struct PromptProgress {
  uint64_t done = 0;  // tokens
  uint64_t total = 0;
  int64_t ns = 0;  // since the request came
};

// One thread at a time calls it, in this order: any calls of Say, EndChoice for each choice,
// Finish; or, at any time, Fail, and nothing after it. Events of calls have ids.
class ReplyWriter {
 public:
  virtual ~ReplyWriter() = default;
  // The request is valid and waits for its turn: a stream sends keep-alives from here on. Called
  // before all others, if at all.
  virtual void Await() {}
  // The prompts are valid, and computing begins: `usage` has the tokens of all of them, and the
  // cached tokens of the first one.
  virtual void Begin(const Usage& usage) = 0;
  // The progress of the first prompt, if wanted.
  virtual void Progress(const PromptProgress& /*progress*/) {}
  virtual void WritePiece(size_t choice, std::span<const chat::ReplyEvent> events,
                          std::span<const ResponseToken> tokens) = 0;
  // An ensemble's explanation of the next choice, before all its other calls.
  virtual void Explain(size_t /*choice*/, JsonPtr /*ensemble*/) {}
  // The choice's own part of the usage, before its end.
  virtual void Count(size_t /*choice*/, const Usage& /*usage*/) {}
  virtual void EndChoice(size_t choice, EndReason reason, const std::string& stop_string) = 0;
  virtual void Finish(const Usage& usage) = 0;
  virtual void Fail(const Problem& problem) = 0;
};

// The identity of a reply, and its stream.
struct ReplyFrame {
  std::shared_ptr<ReplyStream> stream;
  std::string id;     // "chatcmpl-…"
  std::string model;  // as the client called it
  int64_t created_s = 0;
  std::string fingerprint = {};  // of the model and the arithmetic; empty: unknown
};

// A reply in pieces: begins it, and keeps it alive, in its format.
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
  // Sets the keep-alive, for formats that have one of their own.
  void SetKeepAlive(std::string_view bytes);
  // Sends the problem as a whole reply; false if pieces of one have been sent.
  bool Refuse(const Problem& problem, ProblemForm form);

 private:
  const std::shared_ptr<ReplyStream> stream_;
  const Format format_;
  const std::string content_type_;
};

// Collects the text, for writers that answer at once.
class CollectingWriter : public ReplyWriter {
 public:
  CollectingWriter(ReplyFrame frame, size_t choices)
      : frame_(std::move(frame)), replies_(choices) {}

  void Begin(const Usage& /*usage*/) override {}
  void WritePiece(size_t choice, std::span<const chat::ReplyEvent> events,
                  std::span<const ResponseToken> tokens) override;
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

// The text of a JSON document; invalid UTF-8 becomes U+FFFD.
std::string DumpJson(const nlohmann::ordered_json& json);

// "data: {…}\n\n", with a line that names the event if there is one.
std::string ServerEvent(std::string_view event, const nlohmann::ordered_json& json);

// Sends the problem as a whole reply.
void SendProblem(ReplyStream& stream, const Problem& problem, ProblemForm form);
nlohmann::ordered_json ProblemJson(const Problem& problem, ProblemForm form,
                                   const std::string& request_id = "");

}  // namespace aster::serve
