// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A request of a conductor, and how far its stages are with it. Must not know other requests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "engine/running_request.h"
#include "kv/prefix_hash.h"
#include "route/conductor.h"

namespace aster::route {

struct Conductor::Live {
  enum class Phase : uint8_t {
    kWaiting,
    kBeginning,  // stages are asked what they hold
    kRunning,
  };

  Live(engine::RequestId id, engine::Request asked, const text::Tokenizer* tokenizer,
       const model::Shape& shape, RouteMemory* remembered, int64_t now_ns)
      : request(id, std::move(asked), tokenizer, shape.vocab_size, kernels::FastestIsa(), now_ns),
        memory(remembered) {}

  uint32_t length() const { return request.sequence().length(); }
  bool wants_token() const { return request.request().max_tokens > request.generated(); }
  // Its next token needs one more, and nothing is under way.
  bool is_ready_to_decode() const {
    return phase == Phase::kRunning && in_flight == 0 && sent + 1 == length();
  }
  bool has_prefill() const {
    return phase == Phase::kRunning && sent < length() && !is_ready_to_decode();
  }

  engine::RunningRequest request;
  RouteMemory* const memory;
  // Where the logits of all rows go, at most so many rows at a time; else null.
  engine::LogitsSink* sink = nullptr;
  uint32_t sink_chunk = 0;
  uint32_t rows_told = 0;  // to the sink
  Status sink_status;

  Phase phase = Phase::kWaiting;
  std::map<wire::NodeId, uint32_t> holds;   // what each node holds, of those that have said so
  std::optional<kv::TokenHistory> history;  // of all tokens, once it was begun
  uint32_t sent = 0;                        // tokens that stages have or will have
  size_t in_flight = 0;                     // segments
  uint32_t refusals = 0;                    // since something was computed
};

}  // namespace aster::route
