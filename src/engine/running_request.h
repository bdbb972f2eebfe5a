// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A request on its way from its prompt to its end: chooses its tokens, makes text of them, sees
// where it has to stop, and keeps its counts. Must not know other requests, nor when it is its
// turn.
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

// What the scheduler writes down about its turns.
struct Turns {
  uint64_t last_step = 0;  // in which it had its last token; 0: none yet, or preempted since
  int64_t last_ns = 0;
};

class RunningRequest {
 public:
  // Of a request that CheckRequest accepts.
  RunningRequest(RequestId id, Request request, const text::Tokenizer* tokenizer,
                 uint32_t vocab_size, kernels::Isa isa, int64_t now_ns);

  RequestId id() const { return finish_.id; }
  const Request& request() const { return request_; }
  Sequence& sequence() { return *request_.sequence; }
  const Sequence& sequence() const { return *request_.sequence; }
  uint32_t pending_count() const {
    return static_cast<uint32_t>(request_.sequence->pending().size());
  }
  // Whether computing what is pending is to give a token.
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
  // Counts drafts that a node made.
  void CountDrafts(const DraftCounts& counts) { finish_.counts.drafts += counts; }
  // Draft tokens that may be checked beside the next token.
  uint32_t DraftRoom() const;

  void Cancel() { cancelled_ = true; }
  bool cancelled() const { return cancelled_; }

  // It may compute from now on, for the first time or again.
  void Begin(int64_t now_ns);
  // Takes over what others have computed meanwhile.
  void Adopt(kv::AdoptFrom from = kv::AdoptFrom::kStoreToo);
  // Rows that the prompt's tokens from `begin` on were asked for; those that were told are skipped.
  void TakeRows(uint32_t begin, std::span<const float> rows, size_t width);
  // `count` pending tokens have been computed.
  void Advance(uint32_t count);
  // The next token was chosen elsewhere, or could not be: tells it. Whether that was the last one.
  bool TakeChoice(Result<Choice> chosen, int64_t now_ns);
  // Chooses it here.
  bool TakeLogits(std::span<const float> logits, int64_t now_ns);

  void End(FinishReason reason, Status status = Ok());
  // After End, and after the scheduler has released the sequence.
  void TellFinish(int64_t now_ns);

 private:
  void TellPrefill();
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
  uint32_t most_computed_ = 0;  // what is computed below that is computed again
  uint32_t told_rows_;          // of the prompt, where they are asked for: those before it
  int64_t submitted_ns_;
  int64_t begun_ns_ = 0;
  int64_t first_token_ns_ = 0;
  int64_t last_token_ns_ = 0;
  Turns turns_;
  Finish finish_;
};

}  // namespace aster::engine
