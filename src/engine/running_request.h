// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A request from its prompt to its end: chooses its tokens, makes text of them, decides when to
// stop, and keeps its counts. Must not know other requests, nor scheduling.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "engine/request.h"
#include "engine/sampler.h"
#include "engine/stops.h"
#include "text/tokenizer.h"

namespace aster::engine {

// The scheduler's notes about its turns.
struct Turns {
  uint64_t last_step = 0;  // with its last token; 0: none yet, or preempted since
  int64_t last_ns = 0;
};

class RunningRequest {
 public:
  // The request has passed CheckRequest.
  RunningRequest(RequestId id, Request request, const text::Tokenizer* tokenizer,
                 uint32_t vocab_size, kernels::Isa isa, int64_t now_ns);

  RequestId id() const { return finish_.id; }
  const Request& request() const { return request_; }
  Sequence& sequence() { return *request_.sequence; }
  const Sequence& sequence() const { return *request_.sequence; }
  uint32_t pending_count() const {
    return static_cast<uint32_t>(request_.sequence->pending().size());
  }
  // Whether a token is chosen after computing what is pending.
  bool wants_token() const { return finish_.counts.generated < request_.max_tokens; }
  uint64_t generated() const { return finish_.counts.generated; }
  const RequestCounts& counts() const { return finish_.counts; }
  Turns& turns() { return turns_; }
  // Null without speculative decoding.
  Speculation* speculation() { return speculation_.get(); }
  const Speculation* speculation() const { return speculation_.get(); }
  void Speculate(std::unique_ptr<Speculation> speculation) {
    speculation_ = std::move(speculation);
  }
  // Counts drafts of another node.
  void CountDrafts(const DraftCounts& counts) { finish_.counts.drafts += counts; }
  // Draft tokens that may be checked beside the next token.
  uint32_t DraftRoom() const;

  void Cancel() { cancelled_ = true; }
  bool cancelled() const { return cancelled_; }

  // Computing begins, for the first time or again.
  void Begin(int64_t now_ns);
  // Adopts cached pages of other sequences.
  void Adopt(kv::AdoptFrom from = kv::AdoptFrom::kStoreToo);
  // Takes the wanted rows of the prompt's tokens from `begin` on; skips those that were reported.
  void TakeRows(uint32_t begin, std::span<const float> rows, size_t width);
  // `count` pending tokens have been computed.
  void Advance(uint32_t count);
  // Takes a token that was chosen elsewhere, or the error. Returns whether it was the last one.
  bool TakeChoice(Result<Choice> chosen, int64_t now_ns);
  // Chooses the token here.
  bool TakeLogits(std::span<const float> logits, int64_t now_ns);

  void End(FinishReason reason, Status status = Ok());
  // After End, and after the scheduler has released the sequence.
  void ReportFinish(int64_t now_ns);

 private:
  void ReportPrefill();
  void AddText(int32_t token, std::string& shown);
  std::optional<FinishReason> ReasonToStop() const;

  const Request request_;
  const uint64_t prompt_length_;
  const text::Tokenizer* const tokenizer_;
  const uint32_t vocab_size_;
  const kernels::Isa isa_;
  std::optional<Sampler> sampler_;  // once there were logits to choose from
  std::optional<text::StreamDecoder> decoder_;
  StopStrings stops_;
  std::unique_ptr<Speculation> speculation_;

  bool cancelled_ = false;
  bool begun_ = false;
  uint32_t most_computed_ = 0;  // positions below this are computed again
  uint32_t reported_rows_;      // wanted rows of the prompt before this were reported
  int64_t submitted_ns_;
  int64_t begun_ns_ = 0;
  int64_t first_token_ns_ = 0;
  int64_t last_token_ns_ = 0;
  Turns turns_;
  Finish finish_;
};

}  // namespace aster::engine
