// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A request of a conductor, and how far its stages are with it. Must not know other requests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "conduct/conductor.h"
#include "conduct/prefix_search.h"
#include "engine/running_request.h"
#include "kv/prefix_hash.h"

namespace aster::conduct {

struct Conductor::Live {
  enum class Phase : uint8_t {
    kWaiting,
    kBeginning,  // stages are asked what they hold
    kSearching,  // others are
    kFetching,   // they give it
    kRunning,
  };

  Live(engine::RequestId id, engine::Request asked, const text::Tokenizer* tokenizer,
       const model::Shape& shape, RouteMemory* remembered, int64_t now_ns)
      : request(id, std::move(asked), tokenizer, shape.vocab_size, kernels::FastestIsa(), now_ns),
        memory(remembered),
        stops(std::make_shared<const std::vector<int32_t>>(request.request().stop_tokens)) {}

  uint32_t length() const { return request.sequence().length(); }
  bool wants_token() const { return request.request().max_tokens > request.generated(); }
  // Its next token needs one more, and nothing is under way.
  bool is_ready_to_decode() const {
    return phase == Phase::kRunning && in_flight == 0 && sent + 1 == length();
  }
  // How many may come after the next one.
  uint32_t TokensToFollow() const {
    const uint64_t by_count = request.request().max_tokens - request.generated();
    const uint64_t by_context = request.request().context_limit - length();
    const uint64_t left = std::min(by_count, by_context);
    return static_cast<uint32_t>(std::min<uint64_t>(std::max<uint64_t>(left, 1) - 1, UINT32_MAX));
  }
  // Up to where its prompt is read: where others answer it, they compute the last token.
  uint32_t read_end() const { return length() - (reads_for_others && sink == nullptr ? 1 : 0); }
  bool has_prefill() const {
    return phase == Phase::kRunning && sent < read_end() && !is_ready_to_decode();
  }

  engine::RunningRequest request;
  RouteMemory* const memory;
  // Where the logits of all rows go, at most so many rows at a time; else null.
  engine::LogitsSink* sink = nullptr;
  uint32_t sink_chunk = 0;
  uint32_t sink_begin = 0;  // the first row that is wanted
  uint32_t rows_told = 0;   // up to where the sink has them
  Status sink_status;

  Phase phase = Phase::kWaiting;
  uint64_t epoch = 0;                  // of its Begin
  std::map<uint32_t, uint32_t> holds;  // what each stage holds, of those that have said so
  bool reads_for_others = false;       // other stages answer than read
  bool waits_for_rows = false;         // readers get from those what they lack
  int64_t waits_since_ns = 0;
  std::map<wire::NodeId, double> returning;  // bytes of it that nodes give
  int64_t read_ns = 0;                       // when others had read it; 0: not yet
  uint64_t transfer_bytes = 0;               // of rows that whoever answers lacks
  bool rows_due = false;                     // those who answer do not have what was read yet
  bool syncs_kv = false;                     // readers get the rows of the answer
  std::shared_ptr<const std::vector<int32_t>> stops;  // tokens that end the answer
  std::optional<kv::TokenHistory> history;            // of all tokens, once it was begun
  // What others remember of it, while they are asked and give it; nothing once that is over.
  struct Search {
    explicit Search(uint64_t query, uint32_t layer_count) : rows(query, layer_count) {}

    PrefixSearch rows;
    uint32_t goal = 0;  // positions
    uint32_t held = 0;  // before it began
    KvSources sources;
    std::map<wire::NodeId, KvPeer> peers;
    int64_t begun_ns = 0;
    int64_t heard_ns = 0;
  };
  std::unique_ptr<Search> search;
  bool has_searched = false;  // others, on this route
  int64_t started_ns = 0;     // when it began to run, as far as it had to be computed
  uint32_t started_at = 0;
  uint32_t sent = 0;      // tokens that stages have or will have
  size_t in_flight = 0;   // segments
  uint32_t refusals = 0;  // since something was computed
  // What the last stage guesses behind the newest token, and how long the history is then.
  std::vector<int32_t> offered;
  uint32_t offered_at = 0;
  bool takes_drafts = true;  // until a stage had no room for them
};

}  // namespace aster::conduct
