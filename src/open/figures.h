// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What an open model's memory, nodes and drafters have done, in numbers. Must not know who asks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace aster::open {

// What one node has spent on its part of a model since the route through it was opened.
struct HopFigures {
  std::string node = {};
  std::string layers = {};  // "layers 0-11"
  uint32_t layer_begin = 0;
  uint32_t layer_end = 0;
  uint64_t frames = 0;
  uint64_t queue_ns = 0;    // frames waited there
  uint64_t compute_ns = 0;  // and were computed
  uint64_t send_ns = 0;     // and were on the way to the next node, or back
  uint64_t idle_ns = 0;     // frames were in flight, and none of them was computed there
  uint64_t sent_bytes = 0;
  uint64_t gather_ns = 0;       // of compute_ns: a group's nodes waited for each other
  uint64_t gather_bytes = 0;    // that the node that leads has sent the others
  uint64_t gathers = 0;         // in which it has
  uint64_t gather_send_ns = 0;  // of compute_ns: sending this
};
// And all the nodes of a model together.
struct HopsFigures {
  std::vector<HopFigures> hops = {};      // in the order of their layers
  uint64_t replans = 0;                   // routes that took another one's place
  uint64_t fetched_bytes = 0;             // of KV rows that nodes held for each other
  uint64_t transferred_prompts = 0;       // prompts that others read than answered
  uint64_t transferred_bytes = 0;         // of their KV rows that had to travel
  uint64_t exposed_ns = 0;                // from when they were read to their first token
  uint64_t frames_ahead = 0;              // of draft tokens behind draft tokens in flight
  uint64_t frames_ahead_cancelled = 0;    // of these
  uint64_t bubbles_filled = 0;            // times that a stage computed one, and was idle else
  uint64_t bubbles_filled_ns = 0;         // and for how long
  std::vector<std::string> reasons = {};  // why the plan is as it is, in lines for people
  // Tokens/s that the plan expects, of long prompts and of a single answer; 0: not known.
  double planned_prefill_tokens_per_s = 0;
  double planned_decode_tokens_per_s = 0;
};

// All drafters on other machines, wherever the model itself is computed.
struct RemoteDraftFigures {
  uint64_t drafters = 0;   // that are known, and not left out
  uint64_t proposed = 0;   // draft tokens that they have pushed
  uint64_t accepted = 0;   // of these, that the texts then had
  uint64_t cancelled = 0;  // and that were of no use
};

// A cache of KV pages on the disk, since it was opened but for the first three.
struct DiskFigures {
  uint64_t bytes = 0;
  uint64_t files = 0;
  uint64_t limit_bytes = 0;  // 0: there is none, or nodes have it
  uint64_t loaded_tokens = 0;
  uint64_t loaded_bytes = 0;
  uint64_t looked_for = 0;  // pages that memory did not have
  uint64_t found = 0;       // of those
};

// Memory of the KV cache.
struct KvFigures {
  uint64_t held_bytes = 0;    // of those that are under way or kept
  uint64_t cached_bytes = 0;  // of them may be found again until they are evicted
  uint64_t limit_bytes = 0;   // of both; 0: it is on nodes that are not asked
  uint64_t limit_tokens = 0;  // of one conversation, as far as memory goes; 0: not known
  DiskFigures disk = {};
};

}  // namespace aster::open
