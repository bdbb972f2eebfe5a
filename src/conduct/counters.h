// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Counters of a conductor. Must not know what increments them.
#pragma once

#include <cstdint>
#include <string>

namespace aster::conduct {

// Since the conductor was made.
struct ConductorCounters {
  uint64_t submitted = 0;
  uint64_t finished = 0;  // cancelled and failed ones too
  uint64_t frames = 0;    // sent
  uint64_t prefill_tokens = 0;
  uint64_t decode_tokens = 0;
  uint64_t cached_tokens = 0;
  uint64_t replayed_tokens = 0;
  uint64_t refused = 0;              // segments that a stage did not compute
  uint64_t preempted = 0;            // requests whose KV cache was given to older ones
  uint64_t replans = 0;              // routes that took another one's place
  uint64_t transferred_prompts = 0;  // prompts that the prefill path computed for the decode path
  uint64_t transferred_bytes = 0;    // rows of these prompts that the decode path lacked
  int64_t exposed_ns = 0;            // from the end of their prefill to their first token
  uint64_t fetched_tokens = 0;       // cached tokens whose rows came from other nodes
  uint64_t fetched_bytes = 0;
  uint64_t fetches_given_up = 0;
  uint64_t frames_ahead = 0;            // of draft tokens behind draft tokens in flight
  uint64_t frames_ahead_cancelled = 0;  // of these
  // Computations of accepted draft tokens by a stage before the conductor knew that they were
  // right. With one frame at a time, the stage would have been idle.
  uint64_t bubbles_filled = 0;
  int64_t bubbles_filled_ns = 0;
};

// The newest of the numbers that a conductor uses only once, over all its routes.
struct Numbers {
  uint64_t epoch = 0;    // of a Begin
  uint64_t attempt = 0;  // of a segment
  uint64_t frame = 0;
  uint64_t query = 0;   // of a search
  uint64_t ticket = 0;  // of rows that are collected here
};

// Cached tokens and bytes that one node has sent since the conductor was made.
struct FetchedFrom {
  std::string name;
  uint64_t tokens = 0;
  uint64_t bytes = 0;
};

}  // namespace aster::conduct
