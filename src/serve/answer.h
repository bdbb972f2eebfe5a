// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One request of a client: its prompts and choices become jobs of the loop, and their responses go
// to a writer, to the metrics and to a trace. Must not know the API dialects, nor how a response is
// made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "ensemble/ensemble.h"
#include "model/files/pooling.h"
#include "model/files/rank_head.h"
#include "respond/prompt.h"
#include "serve/answer_loop.h"
#include "serve/api_request.h"
#include "serve/ensemble_loop.h"
#include "serve/metrics.h"
#include "serve/problem.h"
#include "serve/reply_writer.h"
#include "serve/request_trace.h"

namespace aster::serve {

// Shared by all answers of a model; outlives them.
struct AnswerContext {
  std::string name;  // the model's
  respond::Model model;
  AnswerLoop* loop = nullptr;
  bool is_elsewhere = false;  // computed on other machines
  // The plan of a request that has just ended, on the loop's thread; null: it is computed here.
  std::function<std::shared_ptr<const respond::PlanUsed>(engine::RequestId)> plan_of = nullptr;
  // Several models answer together, and `model` and `loop` are those of the first; null: one model.
  EnsembleLoop* ensemble = nullptr;
  Metrics* metrics = nullptr;
  RequestCounts* requests = nullptr;
  const Clock* clock = nullptr;
  uint32_t context_limit = 0;  // tokens of prompt and answer
  int64_t deadline_ns = 0;     // of one request; 0: none
  engine::DraftOptions draft = {};
  bool logs_prompts = false;
  std::string trace_folder = {};  // for one file per request; empty: none
  // Which rows make an embedding, or an error if none do.
  Result<model::Pooling> pooling = model::Pooling::kLast;
  // The head that makes ranks of a row (null: the cosine of embeddings), or an error if ranking is
  // impossible.
  Result<std::shared_ptr<const model::RankHead>> rank_head =
      std::shared_ptr<const model::RankHead>();
};

AnswerLoopState StateOf(const AnswerContext& context);

// The prompt of a conversation. Nullopt, and a problem, if the template or the model refuses it.
std::optional<respond::Prompt> PromptOf(const AnswerContext& context, const ApiRequest& request,
                                        Problem& problem);

// Called on a worker, which prepares it; the writer is called on the loop's thread.
class Answer : public std::enable_shared_from_this<Answer> {
 public:
  Answer(const AnswerContext& context, ApiRequest request, std::shared_ptr<ReplyStream> stream,
         std::unique_ptr<ReplyWriter> writer, std::string endpoint);
  ~Answer();

  // A problem goes to the writer.
  void Start(const std::string& client);
  // The same for a request that was accepted before, on the loop's thread.
  void Follow(const std::string& client);

 private:
  class Choice;

  Problem Prepare(const std::string& client);
  Problem MakePrompts();
  Problem PrepareQuestions(const std::string& client);
  Result<ensemble::Question> QuestionOf(const RawPrompt* raw) const;
  Status SubmitQuestions();
  Result<respond::Prompt> PromptOfText(const RawPrompt& raw) const;
  Problem CheckLength(const respond::Prompt& prompt) const;
  std::string TextOf(const respond::Prompt& prompt) const;
  std::unique_ptr<Job> MakeJob(Choice& choice, const std::string& client);
  Status SubmitJobs(const std::string& client);
  bool TryPrepare(const std::string& client);
  void Begin(uint64_t cached);
  void Progress(uint64_t done, uint64_t total);
  void WritePiece(size_t choice, const respond::Piece& piece);
  void SendMemberPiece(size_t choice, const ensemble::AnswerPiece& piece);
  void SendAnswer(size_t choice, Result<ensemble::Answer> answer);
  void EndChoice(size_t choice, const respond::End& end);
  void FailCancelled();
  void Count(size_t choice, const respond::End& end);
  void Fail(const Problem& problem);
  void SaveTrace() const;
  bool is_late() const { return context_.clock->NowNs() >= deadline_ns_; }

  // Constant after Start.
  const AnswerContext& context_;
  const ApiRequest request_;
  const std::shared_ptr<ReplyStream> stream_;
  const std::string endpoint_;
  int64_t start_ns_ = 0;
  int64_t deadline_ns_ = kNeverNs;
  std::vector<respond::Prompt> prompts_;
  uint64_t asked_tokens_ = 0;  // of the prompts of an ensemble's members

  // Used by the loop's thread after Start.
  const std::unique_ptr<ReplyWriter> writer_;
  std::vector<std::unique_ptr<Choice>> choices_;  // of all prompts, in order
  size_t choices_left_ = 0;
  Usage usage_;
  RequestTrace trace_;
  bool has_begun_ = false;
  bool has_failed_ = false;
};

}  // namespace aster::serve
