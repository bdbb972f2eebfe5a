// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/check_request.h"

#include <fmt/format.h>

#include "base/check.h"
#include "engine/stops.h"
#include "kernels/rope.h"

namespace aster::engine {
namespace {

Status CheckPrompt(const model::Shape& shape, const Request& request) {
  const std::vector<int32_t>& prompt = request.sequence->tokens();
  if (prompt.empty()) {
    return InvalidArgument("the prompt is empty: at least one token is needed");
  }
  for (size_t i = 0; i < prompt.size(); ++i) {
    if (prompt[i] < 0 || static_cast<uint32_t>(prompt[i]) >= shape.vocab_size) {
      return InvalidArgument(
          fmt::format("token {} of the prompt is {}; the model has tokens 0 to {}", i, prompt[i],
                      shape.vocab_size - 1));
    }
  }
  if (request.context_limit > kernels::kRopePositions) {
    return InvalidArgument(fmt::format("a context of {} tokens; at most {} can be computed",
                                       request.context_limit, kernels::kRopePositions));
  }
  if (prompt.size() + (request.max_tokens > 0 ? 1 : 0) > request.context_limit) {
    return OutOfRange(
        fmt::format("the prompt has {} tokens and the context {}: no room for an answer; shorten "
                    "the prompt, or allow a longer context (--ctx)",
                    prompt.size(), request.context_limit));
  }
  return Ok();
}

Status CheckRows(const Request& request) {
  if (request.rows.first > 0 && request.rows.first >= request.sequence->length()) {
    return InvalidArgument(fmt::format("rows from {} on are asked for, of a prompt of {} tokens",
                                       request.rows.first, request.sequence->length()));
  }
  if (request.rows.kind == PromptRows::Kind::kNone || request.max_tokens == 0) return Ok();
  return InvalidArgument("logits of a prompt come with a request for no tokens: ask for 0");
}

Status CheckDraft(const DraftOptions& draft) {
  if (draft.kind == DraftKind::kNone || (draft.most >= 1 && draft.most <= kMostDrafts)) return Ok();
  return InvalidArgument(
      fmt::format("{} draft tokens in a step; 1 to {} can be checked", draft.most, kMostDrafts));
}

}  // namespace

Status CheckRequest(const model::Shape& shape, const text::Tokenizer* tokenizer, Request& request) {
  CHECK(request.sequence != nullptr);
  if (request.context_limit == 0) request.context_limit = shape.context_length;
  TRY(CheckSampling(request.sampling, shape.vocab_size));
  TRY(CheckStopStrings(request.stop_strings));
  TRY(CheckDraft(request.draft));
  TRY(CheckRows(request));
  if (!request.stop_strings.empty() && tokenizer == nullptr) {
    return InvalidArgument("stop strings need a vocabulary, and there is none");
  }
  return CheckPrompt(shape, request);
}

}  // namespace aster::engine
