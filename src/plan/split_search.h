// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Cuts a row of layers into parts for nodes of different speeds and memories: the slowest part as
// fast as it can be, and of all such splits the one that takes a single token through fastest. Only
// numbers: must not know models, nodes or words.
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
    uint64_t kv_bytes = 0;     // of the KV cache, whatever layers the node has
    double layer_s = 0;        // of a chunk through a layer
    double head_s = 0;         // and through the head
    double byte_s = 0;         // to read a byte of weights or memory for a token
    double extra_s = 0;        // of a token, whatever the node holds
    double layer_extra_s = 0;  // of a token in each layer, beside reading
    // A device takes the last layers of the node's part, as many as this, and with them the head;
    // they and their share of the KV cache are in its memory, where it does not share the node's.
    uint32_t device_layers = 0;
    bool device_shares_memory = false;
    double device_layer_s = 0;
    double device_byte_s = 0;
    double bus_chunk_s = 0;  // a chunk's rows to the device and back, where it has layers
    double bus_token_s = 0;  // a token's

    uint32_t OnDevice(uint32_t layers) const { return std::min(layers, device_layers); }
    // As it computes its part of `layers` in a group: some of them on the device.
    Node InGroup(uint32_t layers) const;
    bool operator==(const Node&) const = default;
  };
  struct Link {
    double chunk_s = 0;  // a chunk's rows are on their way, one after the other
    double token_s = 0;  // from sending a row to having it
    bool operator==(const Link&) const = default;
  };

  uint32_t layer_count() const { return static_cast<uint32_t>(bytes_before.size()) - 1; }
  bool MayBegin(uint32_t layer) const { return may_begin.empty() || may_begin[layer]; }
  const Link& link(size_t from, size_t to) const { return links[from * nodes.size() + to]; }

  std::vector<uint64_t> bytes_before;  // [layers + 1]: memory that the layers before take together
  std::vector<double> reads_before;    // [layers + 1]: bytes that a token reads of those before
  std::vector<bool> may_begin = {};    // [layers]: whether a part can begin there; none: everywhere
  uint64_t embedding_bytes = 0;        // of memory, with the first layer
  uint64_t head_bytes = 0;             // of memory, with the last layer
  uint64_t shared_bytes = 0;           // counted in both, and held once
  double head_reads = 0;               // bytes that a token reads of the head
  std::vector<Node> nodes;
  std::vector<Link> links;  // [nodes, nodes]; zeros where nothing is known
  bool all_nodes = false;   // each must have a layer at least
};

struct SplitAnswer {
  struct Part {
    size_t node = 0;
    uint32_t begin = 0;
    uint32_t end = 0;
  };
  std::vector<Part> parts;
  double chunk_s = 0;  // of the slowest part or way between two
  double token_s = 0;  // through all of them
};

// What a node's part takes: of a chunk, and of a token.
double PartChunkTime(const SplitProblem::Node& node, uint32_t layers, bool has_head);
double PartTokenTime(const SplitProblem& problem, const SplitProblem::Node& node, uint32_t begin,
                     uint32_t end);

// What it takes of the node's own memory.
uint64_t PartMemory(const SplitProblem& problem, const SplitProblem::Node& node, uint32_t begin,
                    uint32_t end);

// With up to kExactNodes nodes, or as few different orders as those have, there is none better;
// beyond, it is a good one. Nothing where the layers do not fit.
inline constexpr size_t kExactNodes = 6;
std::optional<SplitAnswer> SearchSplit(const SplitProblem& problem);

// The best for nodes in this order, all of which take part.
std::optional<SplitAnswer> SplitInOrder(const SplitProblem& problem, std::span<const size_t> order);
// Of those whose slowest part takes at most `slack` times as long as the best one's, the one with
// the fastest token.
std::optional<SplitAnswer> SplitInOrder(const SplitProblem& problem, std::span<const size_t> order,
                                        double slack);

// The most layers from `begin` on that this node's memory holds.
uint32_t LayersThatFit(const SplitProblem& problem, size_t node, uint32_t begin);

}  // namespace aster::plan
