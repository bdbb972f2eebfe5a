// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A request to a Generator, and what the generator tells about it. Must not know how it is
// computed.
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
// "stop token", "length"… for people and logs.
std::string_view FinishReasonName(FinishReason reason);

// A token of the answer.
struct Delta {
  RequestId id;
  const Choice& choice;
  std::string_view text;  // that may be shown now: whole characters, never part of a stop string
};

struct RequestCounts {
  uint64_t prompt = 0;     // tokens
  uint64_t cached = 0;     // of the prompt, that were in the KV cache
  uint64_t generated = 0;  // tokens, the one that stopped it included
  uint64_t replayed = 0;   // tokens computed again, because memory ran out
  DraftCounts drafts = {};
};

struct RequestTimes {
  int64_t waited_ns = 0;   // until it was begun
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

// Rows of its prompt that a request for no tokens is told, in their order and each once. One that
// is told more than the last computes all of them from `first` on, and takes from the KV cache only
// what stands before that.
struct PromptRows {
  enum class Kind : uint8_t {
    kNone,
    kLogits,     // [vocab_size], behind each token
    kStates,     // [embedding], each token's row as the head sees it: behind the last norm
    kLastState,  // the last token's alone
  };
  Kind kind = Kind::kNone;
  std::function<void(std::span<const float>)> on_row = nullptr;
  uint32_t first = 0;  // of kLogits and kStates: no row before it is told

  bool needs_all() const { return kind == Kind::kLogits || kind == Kind::kStates; }
};

// Callbacks come from Generator::Step. They may submit and cancel, but not step, and they do not
// throw. None comes for a request that Submit refused.
struct Request {
  // Its history is the prompt; at least one token. Lent until the request is finished: nothing else
  // touches it. Afterwards it holds the prompt and every token of the answer, the last one pending.
  Sequence* sequence = nullptr;
  SamplingOptions sampling = {};
  LogitsEditor edit_logits = nullptr;
  // Speculative decoding: which drafter, and how many draft tokens; changes only the time.
  DraftOptions draft = {};
  uint64_t max_tokens = kNoTokenLimit;  // 0 only computes the prompt
  std::vector<int32_t> stop_tokens = {};
  std::vector<std::string> stop_strings = {};
  uint32_t context_limit = 0;  // tokens of prompt and answer; 0: what the model was trained for
  bool show_control = false;   // control tokens become text
  PromptRows rows = {};        // only where max_tokens is 0

  // Tokens of the prompt that are computed, first those that were cached.
  std::function<void(uint64_t done, uint64_t total)> on_prefill = nullptr;
  std::function<void(const Delta&)> on_token = nullptr;
  std::function<void(const Finish&)> on_finish = nullptr;
};

}  // namespace aster::engine
