// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Chooses nodes that compute every layer together (tensor parallel), and what each has of them: the
// group that computes a new token fastest. Only numbers: must not know models, nodes or words.
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

// How experts are divided: rows of each, or some as a whole, beside some of each layer that all
// nodes have.
struct GroupForm {
  bool owns_experts = false;
  uint32_t replicas = 0;
  bool operator==(const GroupForm&) const = default;
};

struct GroupProblem {
  struct Node {
    uint64_t memory_bytes = 0;  // for its part
    double token_byte_s = 0;    // to read a byte of weights or of the KV cache for a token
    double chunk_s = 0;         // to compute a chunk through all layers and what it has of the head
    bool may_own_experts = true;
    bool may_divide = true;  // the model; else it is in no group
  };
  // Of a mixture of experts, where nodes own them. Without any none may.
  struct Experts {
    uint32_t count = 0;           // from which a router chooses
    uint32_t used = 0;            // of them by a token
    bool has_shared = false;      // one more, which every token uses and every node has
    double reads = 0;             // of what a token reads of the layers, from 0 to 1
    uint64_t bytes = 0;           // of memory that is divided
    uint64_t shared_bytes = 0;    // likewise of the shared one
    uint32_t gathers = 0;         // in place of those of rows
    uint64_t gathered_bytes = 0;  // likewise
    uint64_t sum_bytes = 0;       // that each node sends beside its columns, for a token
  };
  struct Link {
    double message_s = 0;  // from sending an empty message to having it; 0: not known
    double byte_s = 0;     // 0: not known
  };

  const Link& link(size_t from, size_t to) const { return links[from * nodes.size() + to]; }

  uint32_t heads = 0;        // that are divided, none of them among two nodes
  double whole = 0;          // how much of the layers each node computes, from 0 to 1
  double by_heads = 0;       // how much of them is divided so; the rest is divided finely
  uint64_t bytes = 0;        // of memory that is divided
  uint64_t whole_bytes = 0;  // that each node has as a whole
  double layer_reads = 0;    // bytes of all layers that a token reads
  double head_reads = 0;     // of the output head, which is divided finely
  uint32_t gathers = 0;      // of a token or chunk, one after the other: all send all their columns
  uint64_t gathered_bytes = 0;  // a token's columns in all of these, of all nodes together
  uint32_t chunk_tokens = 0;
  Experts experts = {};
  // What nodes take to the byte, where it is known: in place of shares of `bytes` and what is
  // whole. It outlives the problem.
  const GroupMemory* memory = nullptr;
  uint64_t reserved_bytes = 0;  // beside, on each
  std::vector<Node> nodes = {};
  std::vector<Link> links = {};  // [nodes, nodes]
  // Where it is known what gathers took, in place of `links`.
  std::map<std::pair<size_t, size_t>, Link> seen_links = {};

  const Link& gather_link(size_t from, size_t to) const {
    const auto seen = seen_links.find({from, to});
    return seen == seen_links.end() ? link(from, to) : seen->second;
  }
};

struct GroupAnswer {
  std::vector<size_t> nodes;     // the one that leads first
  std::vector<uint32_t> shares;  // of the work, in proportion
  GroupForm form = {};
  double chunk_s = 0;           // a chunk through all layers
  double token_s = 0;           // a new token
  double exchange_s = 0;        // of that, for gathers
  double chunk_exchange_s = 0;  // likewise of a chunk
};

// What a message of a gather costs both ends, beside the link's own time.
inline constexpr double kGatherOverheadS = 20e-6;

// Of these nodes, the one that leads first, with the best shares; nothing where a link between two
// of them is not known, a share would be less than a head, or their memory is not enough.
std::optional<GroupAnswer> SearchShares(const GroupProblem& problem, std::span<const size_t> nodes);

// Likewise, with these shares and experts of their own, and as many on all of them as make a token
// fastest; nothing also where the model has no experts that could be owned.
std::optional<GroupAnswer> SearchOwners(const GroupProblem& problem, std::span<const size_t> nodes,
                                        std::span<const uint32_t> shares);

// With these shares. Memory is not looked at: they have their parts already.
std::optional<GroupAnswer> GroupWith(const GroupProblem& problem, std::span<const size_t> nodes,
                                     std::span<const uint32_t> shares, const GroupForm& form = {});

// Memory that one of a group's nodes takes.
double MemberBytes(const GroupProblem& problem, std::span<const uint32_t> shares,
                   const GroupForm& form, size_t member);

// Likewise for some of the layers, and nothing reserved.
uint64_t BytesOfMember(const GroupMemory& memory, std::span<const uint32_t> shares,
                       const GroupForm& form, size_t member, uint32_t begin, uint32_t end);

// What nodes waited for each other as a group, beside their own work: the least of them, as the
// others waited for the slowest one.
struct SeenGathers {
  std::vector<size_t> nodes;
  std::vector<double> parts;  // of the work
  double layers = 1;          // of the problem's, from 0 to 1
  double token_s = 0;         // of a token; 0: not known
  double frame_s = 0;         // of a frame of a prompt
  uint32_t rows = 0;          // of that frame
};
// The links that would take as long: the problem's gathers take what they took there from now on.
// Rates of links are measured with other messages than these, which nodes send while they compute.
void CorrectGathers(const SeenGathers& seen, GroupProblem& problem);

// From the fastest to the slowest.
std::vector<size_t> BySpeed(const GroupProblem& problem);

// Of two to model::GroupPart::kMostParts nodes with links between them that are known; nothing
// where there is none, or no group's memory is enough.
std::optional<GroupAnswer> SearchGroup(const GroupProblem& problem);

}  // namespace aster::plan
