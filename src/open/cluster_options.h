// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether and how a model is spread over several machines, as a person says it. Must not know how
// they are reached, nor the command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace aster::open {

// A prompt and its answer, in tokens, as far as that is known before.
struct ExpectedRequest {
  uint32_t prompt_tokens = 0;
  uint32_t answer_tokens = 0;
  uint32_t held_tokens = 0;  // of the text before the prompt, whose KV rows the nodes have
};

struct ClusterOptions {
  size_t local_nodes = 0;  // processes on this machine; 0: none
  bool pinned = false;
  std::string link;              // between local nodes, such as 1ms,1Gbit; empty: loopback
  bool cluster = false;          // the nodes of this machine's cluster
  std::vector<std::string> via;  // HOST:PORT of nodes that know the others; none: as last seen
  std::string split = "auto";
  std::string split_option = "--split";  // as it was called
  std::string decode;                    // the decode nodes; empty: the prefill nodes decode
  std::string rows = "f32";
  std::string kv_wire = "exact";  // encoding of KV rows in KV transfers
  // New tokens of a prompt up to which nodes that decode compute it themselves; nothing: as
  // predicted.
  std::optional<uint32_t> direct_tokens;
  std::string trace_path;  // empty: none is kept
  // Where requests come one at a time: what plans are made for.
  std::optional<ExpectedRequest> only_request;
  // Its tokens, as far as they are known before: nodes are asked for KV rows of them.
  std::vector<int32_t> only_tokens;

  bool wants_nodes() const { return local_nodes > 0 || cluster; }
};

}  // namespace aster::open
