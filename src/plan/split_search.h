// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Cuts a row of layers into parts for nodes of different speeds and memories: first the slowest
// part is as fast as possible, and among such splits a single token is fastest. Only numbers: must
// not know models, nodes or words.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace aster::plan {

struct SplitProblem {
  struct Node {
    uint64_t memory_bytes = 0;
    uint64_t kv_bytes = 0;     // for the KV cache, independent of the node's layers
    double layer_s = 0;        // of a chunk through a layer
    double head_s = 0;         // of a chunk through the head
    double byte_s = 0;         // to read a byte of weights or KV cache for a token
    double extra_s = 0;        // per token, independent of the node's layers
    double layer_extra_s = 0;  // per token and layer, in addition to reading
    // A device computes this many of the last layers of the node's part, and the head with them.
    // They and their share of the KV cache are in its memory, unless it shares the node's.
    uint32_t device_layers = 0;
    bool device_shares_memory = false;
    double device_layer_s = 0;
    double device_byte_s = 0;
    double bus_chunk_s = 0;  // a chunk's rows to the device and back, if it has layers
    double bus_token_s = 0;  // a token's rows, likewise

    uint32_t OnDevice(uint32_t layers) const { return std::min(layers, device_layers); }
    // The node as it computes its part of `layers` layers in a group, some of them on the device.
    Node InGroup(uint32_t layers) const;
    bool operator==(const Node&) const = default;
  };
  struct Link {
    double chunk_s = 0;  // time to send a chunk's rows, one after the other
    double token_s = 0;  // from sending a row to receiving it
    bool operator==(const Link&) const = default;
  };

  uint32_t layer_count() const { return static_cast<uint32_t>(bytes_before.size()) - 1; }
  bool MayBegin(uint32_t layer) const { return may_begin.empty() || may_begin[layer]; }
  const Link& link(size_t from, size_t to) const { return links[from * nodes.size() + to]; }

  std::vector<uint64_t> bytes_before;  // [layers + 1]: memory of all layers before
  std::vector<double> reads_before;  // [layers + 1]: bytes that a token reads in all layers before
  std::vector<bool> may_begin = {};  // [layers]: whether a part can begin there; empty: all can
  uint64_t embedding_bytes = 0;      // with the first layer
  uint64_t head_bytes = 0;           // with the last layer
  uint64_t shared_bytes = 0;         // counted in both, and held once
  double head_reads = 0;             // bytes of the head that a token reads
  std::vector<Node> nodes;
  std::vector<Link> links;  // [nodes, nodes]; zeros: unknown
  bool all_nodes = false;   // each must have at least one layer
};

struct SplitAnswer {
  struct Part {
    size_t node = 0;
    uint32_t begin = 0;
    uint32_t end = 0;
  };
  std::vector<Part> parts;
  double chunk_s = 0;  // of the slowest part or link between two
  double token_s = 0;  // through all of them
};

// The times of a node's part for a chunk, and for a token.
double PartChunkTime(const SplitProblem::Node& node, uint32_t layers, bool has_head);
double PartTokenTime(const SplitProblem& problem, const SplitProblem::Node& node, uint32_t begin,
                     uint32_t end);

// The bytes of the node's own memory that the part takes.
uint64_t PartMemory(const SplitProblem& problem, const SplitProblem::Node& node, uint32_t begin,
                    uint32_t end);

// The best split with up to kExactNodes nodes, or with no more different orders than these have;
// otherwise a good one. Nullopt if the layers do not fit.
inline constexpr size_t kExactNodes = 6;
std::optional<SplitAnswer> SearchSplit(const SplitProblem& problem);

// The best split for nodes in this order, all of which take part.
std::optional<SplitAnswer> SplitInOrder(const SplitProblem& problem, std::span<const size_t> order);
// The split with the fastest token, among those whose slowest part takes at most `slack` times as
// long as the best split's.
std::optional<SplitAnswer> SplitInOrder(const SplitProblem& problem, std::span<const size_t> order,
                                        double slack);

// The most layers from `begin` on that this node has memory for.
uint32_t LayersThatFit(const SplitProblem& problem, size_t node, uint32_t begin);

}  // namespace aster::plan
