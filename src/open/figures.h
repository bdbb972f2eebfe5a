// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Counters of an open model's memory, nodes and drafters. Must not know who reads them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace aster::open {

// The times of one node for its part of a model, since the route through it was opened.
struct HopFigures {
  std::string node = {};
  std::string layers = {};  // "layers 0-11"
  uint32_t layer_begin = 0;
  uint32_t layer_end = 0;
  uint64_t frames = 0;
  uint64_t queue_ns = 0;    // time that frames waited there
  uint64_t compute_ns = 0;  // time that frames were computed there
  uint64_t send_ns = 0;     // time that frames were on the way to the next node, or back
  uint64_t idle_ns = 0;     // time with frames in flight, but none computed there
  uint64_t sent_bytes = 0;
  uint64_t gather_ns = 0;       // part of compute_ns: the leader of a group waited for others
  uint64_t gather_bytes = 0;    // bytes that it sent to the others
  uint64_t gathers = 0;         // number of gathers
  uint64_t gather_send_ns = 0;  // part of compute_ns: sending gather_bytes
};
// All the nodes of a model together.
struct HopsFigures {
  std::vector<HopFigures> hops = {};      // in the order of their layers
  uint64_t replans = 0;                   // routes that replaced another one
  uint64_t fetched_bytes = 0;             // KV rows from prefix search
  uint64_t transferred_prompts = 0;       // prompts with a KV transfer to the decode node
  uint64_t transferred_bytes = 0;         // KV rows of these transfers
  uint64_t exposed_ns = 0;                // from the end of their prefill to their first token
  uint64_t frames_ahead = 0;              // of draft tokens sent after draft tokens in flight
  uint64_t frames_ahead_cancelled = 0;    // of these
  uint64_t bubbles_filled = 0;            // times that a stage computed one instead of being idle
  uint64_t bubbles_filled_ns = 0;         // the duration of these
  std::vector<std::string> reasons = {};  // why the plan is as it is, in lines for users
  // The plan's predicted tokens/s, for long prompts and for a single answer; 0: unknown.
  double planned_prefill_tokens_per_s = 0;
  double planned_decode_tokens_per_s = 0;
};

// All drafters on other machines, wherever the model itself is computed.
struct RemoteDraftFigures {
  uint64_t drafters = 0;   // drafters that are known and in use
  uint64_t proposed = 0;   // draft tokens that they have pushed
  uint64_t accepted = 0;   // of these, draft tokens that agreed with the text
  uint64_t cancelled = 0;  // of these, draft tokens that differed from it
};

// A KV cache on disk. All but the first three numbers count since it was opened.
struct DiskFigures {
  uint64_t bytes = 0;
  uint64_t files = 0;
  uint64_t limit_bytes = 0;  // 0: there is none, or nodes have it
  uint64_t loaded_tokens = 0;
  uint64_t loaded_bytes = 0;
  uint64_t looked_for = 0;  // pages that were not in memory
  uint64_t found = 0;       // of these, pages found on disk
};

// Memory that a model takes on this machine: its weights and its KV cache.
struct MemoryFigures {
  uint64_t weight_bytes = 0;  // packed, in main memory; 0: they are on nodes
  uint64_t held_bytes = 0;    // of the KV cache: of running requests and kept conversations
  uint64_t cached_bytes = 0;  // of pages that are cached until they are evicted
  uint64_t limit_bytes = 0;   // of both; 0: it is on nodes that are not asked
  uint64_t limit_tokens = 0;  // tokens of one conversation that fit; 0: unknown
  DiskFigures disk = {};
};

}  // namespace aster::open
