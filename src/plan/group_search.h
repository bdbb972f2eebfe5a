// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Chooses nodes that compute every layer together (tensor parallel, or expert parallel), and each
// node's share: the group that computes a new token fastest. Only numbers: must not know models,
// nodes or words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "plan/group_memory.h"

namespace aster::plan {

// How experts are divided: each node has rows of all, or owns some as a whole; in the second case
// all nodes may also have some experts of each layer.
struct GroupForm {
  bool owns_experts = false;
  uint32_t replicas = 0;
  bool operator==(const GroupForm&) const = default;
};

struct GroupProblem {
  struct Node {
    uint64_t memory_bytes = 0;  // available for its part
    double token_byte_s = 0;    // to read a byte of weights or of the KV cache for a token
    double chunk_s = 0;         // to compute a chunk through all layers and its part of the head
    bool may_own_experts = true;
    bool may_divide = true;  // false: it cannot divide this model, and is in no group
  };
  // Numbers for groups whose nodes own experts; without them no node may.
  struct Experts {
    uint32_t count = 0;           // experts that a router chooses from
    uint32_t used = 0;            // experts that a token uses
    bool has_shared = false;      // one more, which every token uses and every node has
    double reads = 0;             // their share of the bytes that a token reads, from 0 to 1
    uint64_t bytes = 0;           // their memory, which is divided
    uint64_t shared_bytes = 0;    // memory of the shared expert
    uint32_t gathers = 0;         // replaces GroupProblem::gathers
    uint64_t gathered_bytes = 0;  // likewise
    uint64_t sum_bytes = 0;       // sent by each node in addition to its columns, per token
  };
  struct Link {
    double message_s = 0;  // from sending an empty message to receiving it; 0: unknown
    double byte_s = 0;     // 0: unknown
  };

  const Link& link(size_t from, size_t to) const { return links[from * nodes.size() + to]; }

  uint32_t heads = 0;           // heads to divide, each of which is on one node
  double whole = 0;             // share of the layers that every node computes, from 0 to 1
  double by_heads = 0;          // share that is divided by heads; the rest is divided by rows
  uint64_t bytes = 0;           // memory that is divided
  uint64_t whole_bytes = 0;     // memory that each node has as a whole
  double layer_reads = 0;       // bytes of all layers that a token reads
  double head_reads = 0;        // of the output head, which is divided finely
  uint32_t gathers = 0;         // of a token or chunk, in turn; in each, all send their columns
  uint64_t gathered_bytes = 0;  // a token's columns in all gathers, of all nodes together
  uint32_t chunk_tokens = 0;
  Experts experts = {};
  // The memory of nodes to the byte, if it is known; replaces `bytes` and `whole_bytes`. It
  // outlives the problem.
  const GroupMemory* memory = nullptr;
  uint64_t reserved_bytes = 0;  // in addition, on each node
  std::vector<Node> nodes = {};
  std::vector<Link> links = {};  // [nodes, nodes]
  // Links by measured times of gathers; they replace `links` for gathers.
  std::map<std::pair<size_t, size_t>, Link> seen_links = {};

  const Link& gather_link(size_t from, size_t to) const {
    const auto seen = seen_links.find({from, to});
    return seen == seen_links.end() ? link(from, to) : seen->second;
  }
};

struct GroupAnswer {
  std::vector<size_t> nodes;     // the leading one first
  std::vector<uint32_t> shares;  // of the work, in proportion
  GroupForm form = {};
  double chunk_s = 0;           // a chunk through all layers
  double token_s = 0;           // a new token
  double exchange_s = 0;        // part of token_s: gathers
  double chunk_exchange_s = 0;  // part of chunk_s: gathers
};

// The time that a message of a gather costs both ends, in addition to the link's.
inline constexpr double kGatherOverheadS = 20e-6;

// The group of these nodes, the leading one first, with the best shares. Nullopt if a link between
// two of them is unknown, if a share would be less than a head, or if memory is short.
std::optional<GroupAnswer> SearchShares(const GroupProblem& problem, std::span<const size_t> nodes);

// Likewise, with these shares and nodes that own experts; the number of experts on all nodes is the
// one with the fastest token. Nullopt also if the model has no experts that nodes could own.
std::optional<GroupAnswer> SearchOwners(const GroupProblem& problem, std::span<const size_t> nodes,
                                        std::span<const uint32_t> shares);

// The group with these shares. Memory is not checked: its nodes already have their parts.
std::optional<GroupAnswer> GroupWith(const GroupProblem& problem, std::span<const size_t> nodes,
                                     std::span<const uint32_t> shares, const GroupForm& form = {});

// The memory that one of a group's nodes needs.
double MemberBytes(const GroupProblem& problem, std::span<const uint32_t> shares,
                   const GroupForm& form, size_t member);

// Likewise for some of the layers, without reserved memory.
uint64_t BytesOfMember(const GroupMemory& memory, std::span<const uint32_t> shares,
                       const GroupForm& form, size_t member, uint32_t begin, uint32_t end);

// How long the nodes of a group waited for each other, apart from their own work: the shortest of
// their times, as the longer ones include waiting for the slowest node.
struct SeenGathers {
  std::vector<size_t> nodes;
  std::vector<double> parts;  // of the work
  double layers = 1;          // share of the problem's layers, from 0 to 1
  double token_s = 0;         // per token; 0: unknown
  double frame_s = 0;         // per frame of a prompt
  uint32_t rows = 0;          // of that frame
};
// Makes the problem's gathers take as long as the seen ones. The rates of links are measured with
// other messages, while nodes are not computing.
void CorrectGathers(const SeenGathers& seen, GroupProblem& problem);

// The nodes from the fastest to the slowest.
std::vector<size_t> BySpeed(const GroupProblem& problem);

// The best group of two to model::GroupPart::kMostParts nodes. Nullopt if no links between nodes
// are known, or if no group has enough memory.
std::optional<GroupAnswer> SearchGroup(const GroupProblem& problem);

}  // namespace aster::plan
