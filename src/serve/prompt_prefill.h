// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Computes prompts of a request for their rows only: for embeddings, ranks and the probabilities of
// a text. Must not know how the rows are used, nor dialects.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/request.h"
#include "serve/answer.h"

namespace aster::serve {

// The loop's thread calls the functions, except the request's own.
struct PrefillRequest {
  std::vector<std::vector<int32_t>> prompts;  // each of at least one token
  engine::PromptRows::Kind rows = engine::PromptRows::Kind::kNone;
  std::function<void(size_t prompt, std::span<const float> row)> on_row;
  std::function<void()> on_done;
  std::function<void(const Problem&)> on_failed;  // instead of all others
  std::string field;                              // the request's field with the prompts
  std::string client;                             // takes turns with others
  int64_t timeout_ns = 0;                         // 0: up to the server's limit
};

// For a text of the field that does not fit into the context.
Problem TooManyTokens(const std::string& field, size_t count, uint32_t most);

class PromptPrefill : public std::enable_shared_from_this<PromptPrefill> {
 public:
  PromptPrefill(const AnswerContext& context, PrefillRequest request,
                std::shared_ptr<ReplyStream> stream);

  // Submits as many prompts as can be computed at once; another one follows each that is done.
  void Start();

 private:
  std::unique_ptr<Job> NextJob();
  void OnFinish(const engine::Finish& finish);
  void Fail(const Problem& problem);

  const AnswerContext& context_;
  const PrefillRequest request_;
  const std::shared_ptr<ReplyStream> stream_;
  const int64_t deadline_ns_;

  // Used by the loop's thread after Start.
  size_t begun_ = 0;
  size_t done_ = 0;
  bool has_failed_ = false;
};

}  // namespace aster::serve
