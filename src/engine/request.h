// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A request to a Generator, and its callbacks. Must not know how it is computed.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/proposer.h"
#include "engine/sampler.h"
#include "engine/sequence.h"
#include "engine/speculation.h"

namespace aster::engine {

using RequestId = uint64_t;

inline constexpr uint64_t kNoTokenLimit = std::numeric_limits<uint64_t>::max();

enum class FinishReason : uint8_t {
  kStopToken,
  kStopString,
  kLength,   // max_tokens
  kContext,  // context_limit
  kCancelled,
  kFailed,  // the Status says why
};
// "stop token", "length"… for users and logs.
std::string_view FinishReasonName(FinishReason reason);

// A token of the answer.
struct Delta {
  RequestId id;
  const Choice& choice;
  std::string_view text;  // to show now: whole characters, never part of a stop string
};

struct RequestCounts {
  uint64_t prompt = 0;     // tokens
  uint64_t cached = 0;     // of the prompt, found in the KV cache
  uint64_t generated = 0;  // tokens, including the one that stopped it
  uint64_t replayed = 0;   // tokens computed again after a preemption or failure
  DraftCounts drafts = {};
};

struct RequestTimes {
  int64_t waited_ns = 0;   // until it began
  int64_t prefill_ns = 0;  // from there to the first token: with the wait, time to first token
  int64_t decode_ns = 0;   // from there to the last: generated - 1 tokens
};

struct Finish {
  RequestId id = 0;
  FinishReason reason = FinishReason::kFailed;
  Status status = {};            // an error if it failed
  std::string text = {};         // held back until now
  int32_t stop_token = -1;       // for kStopToken
  std::string stop_string = {};  // for kStopString
  RequestCounts counts = {};
  RequestTimes times = {};
};

// Which rows of its prompt a request without an answer gets, in order and each once. For kLogits
// and kStates all rows from `first` on are computed, so only tokens before that may come from the
// KV cache.
struct PromptRows {
  enum class Kind : uint8_t {
    kNone,
    kLogits,     // [vocab_size], after each token
    kStates,     // [embedding], the head's input for each token: after the last norm
    kLastState,  // only that of the last token
  };
  Kind kind = Kind::kNone;
  std::function<void(std::span<const float>)> on_row = nullptr;
  uint32_t first = 0;  // for kLogits and kStates: the first row

  bool needs_all() const { return kind == Kind::kLogits || kind == Kind::kStates; }
};

// Callbacks come from Generator::Step. They may submit and cancel, but not step, and must not
// throw. There is none for a request that Submit refused.
struct Request {
  // Its history is the prompt, at least one token. Nothing else may use it until the request is
  // finished. Then it holds the prompt and every token of the answer, the last one pending.
  Sequence* sequence = nullptr;
  SamplingOptions sampling = {};
  LogitsEditor edit_logits = nullptr;
  // Speculative decoding: which drafter, and how many draft tokens; affects only the time.
  DraftOptions draft = {};
  uint64_t max_tokens = kNoTokenLimit;  // 0 only computes the prompt
  std::vector<int32_t> stop_tokens = {};
  std::vector<std::string> stop_strings = {};
  uint32_t context_limit = 0;  // tokens of prompt and answer; 0: the model's context length
  bool show_control = false;   // show control tokens as text
  PromptRows rows = {};        // only if max_tokens is 0

  // Tokens of the prompt in the KV cache; the first call counts the cached ones.
  std::function<void(uint64_t done, uint64_t total)> on_prefill = nullptr;
  std::function<void(const Delta&)> on_token = nullptr;
  std::function<void(const Finish&)> on_finish = nullptr;
};

}  // namespace aster::engine
