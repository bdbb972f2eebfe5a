// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One request on its way: from what is asked to prompts, and from tokens to what a writer is told.
// Must not know dialects of servers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "chat/prompt.h"
#include "chat/reply_parser.h"
#include "grammar/token_mask.h"
#include "serve/answer_loop.h"
#include "serve/ask.h"
#include "serve/metrics.h"
#include "serve/problem.h"
#include "serve/reply_writer.h"
#include "serve/request_trace.h"

namespace aster::serve {

// What all answers of a model share; outlives them.
struct AnswerContext {
  std::string model;  // its name
  const chat::ChatPrompt* prompt = nullptr;
  chat::Dialect dialect;
  std::shared_ptr<const grammar::TokenTree> tokens;
  AnswerLoop* loop = nullptr;
  Metrics* metrics = nullptr;
  RequestCounts* requests = nullptr;
  const Clock* clock = nullptr;
  uint32_t context_limit = 0;  // tokens of prompt and answer
  int64_t deadline_ns = 0;     // for one request; 0: none
  engine::DraftOptions draft = {};
  bool logs_prompts = false;
  std::string trace_folder = {};  // one file for each request; empty: none
};

// The tokens of a conversation, and the text before the answer.
struct Prompted {
  std::vector<int32_t> tokens;
  std::string text;                                 // marked (chat/prompt.h)
  std::string forced;                               // what the answer has to begin with
  std::shared_ptr<const grammar::Grammar> grammar;  // of what follows that, or null
  bool has_to_call = false;
};
// None, and a problem, where the template or the model cannot have it.
std::optional<Prompted> MakePrompt(const AnswerContext& context, const Ask& ask, Problem& problem);

// Called on a worker; prepared there, and told to the writer on the loop's thread.
class Answer : public std::enable_shared_from_this<Answer> {
 public:
  Answer(const AnswerContext& context, Ask ask, std::shared_ptr<ReplyStream> stream,
         std::unique_ptr<ReplyWriter> writer, std::string endpoint);
  ~Answer();

  // Says by itself what is wrong.
  void Start(const std::string& client);

 private:
  struct Run;

  Problem Prepare();
  std::vector<Prompted> MakePrompts(Problem& problem) const;
  Result<Prompted> PromptOf(const RawPrompt& raw) const;
  std::unique_ptr<Job> MakeJob(Run& run, const std::string& client);
  void FindTools();
  // `cached` tokens of the first prompt were remembered, as far as is known.
  void Begin(uint64_t cached);
  void OnToken(Run& run, const engine::Delta& delta);
  void OnFinish(Run& run, const engine::Finish& finish);
  void Say(Run& run, std::string_view text, bool is_end, std::vector<SpokenToken> tokens);
  std::vector<SpokenToken> TakeSaid(Run& run) const;
  std::vector<SpokenToken> TakeLast(Run& run, const engine::Finish& finish) const;
  void EndRun(Run& run, const engine::Finish& finish);
  void Fail(const Problem& problem);
  void SaveTrace() const;
  std::string NewCallId() const;
  bool is_late() const { return context_.clock->NowNs() >= deadline_ns_; }

  // Constant after Start.
  const AnswerContext& context_;
  const Ask ask_;
  const std::shared_ptr<ReplyStream> stream_;
  const std::string endpoint_;
  int64_t start_ns_ = 0;
  int64_t deadline_ns_ = kNeverNs;
  chat::Tools tools_;
  bool offers_tools_ = false;

  // Of the loop's thread, after Start.
  const std::unique_ptr<ReplyWriter> writer_;
  std::vector<std::unique_ptr<Run>> runs_;
  size_t runs_left_ = 0;
  Usage usage_;
  int64_t last_said_ns_ = 0;
  RequestTrace trace_;
  bool has_begun_ = false;
  bool has_failed_ = false;
};

}  // namespace aster::serve
