// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether and how a model is spread over several machines: the user's options. Must not know how
// machines are reached, nor the command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace aster::open {

// A prompt and its answer, in tokens, as far as known in advance.
struct ExpectedRequest {
  uint32_t prompt_tokens = 0;
  uint32_t answer_tokens = 0;
  uint32_t held_tokens = 0;  // of the text before the prompt, whose KV rows the nodes have
};

struct ClusterOptions {
  size_t local_nodes = 0;  // processes on this machine; 0: none
  bool pinned = false;
  std::string link;              // between local nodes, such as 1ms,1Gbit; empty: loopback
  bool cluster = false;          // use the nodes of this machine's cluster
  std::vector<std::string> via;  // HOST:PORT of nodes that know the others; empty: as last seen
  std::string split = "auto";
  std::string split_option = "--split";  // the name of the option that set it
  std::string decode;                    // the decode nodes; empty: the prefill nodes decode
  std::string rows = "f32";
  std::string kv_wire = "exact";  // encoding of KV rows in KV transfers
  // The most new tokens of a prompt that decode nodes compute themselves; nullopt: as predicted.
  std::optional<uint32_t> direct_tokens;
  std::string trace_path;  // empty: no trace
  // What plans are made for if requests come one at a time.
  std::optional<ExpectedRequest> only_request;
  // Its tokens, as far as known in advance: nodes are asked for their KV rows.
  std::vector<int32_t> only_tokens;

  bool wants_nodes() const { return local_nodes > 0 || cluster; }
};

}  // namespace aster::open
