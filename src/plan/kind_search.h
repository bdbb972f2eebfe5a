// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Compares kinds of plan for one request: a node alone, a pipeline, a group, groups beside other
// stages of a pipeline, and prompts that other nodes compute than answers. Only numbers: must not
// know models, nodes or words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/frame_shape.h"
#include "plan/group_search.h"
#include "plan/split_search.h"

namespace aster::plan {

// From the simplest to the one that takes most machines and messages.
enum class PlanKind : uint8_t {
  kOneNode,
  kPipeline,
  kGroup,
  kMixed,  // a pipeline in which a group is a stage at least
  kApart,  // other nodes, or the same ones in another way, prefill than decode
};

struct KindAnswer {
  struct Part {
    std::vector<size_t> nodes;     // of a group the one that leads first
    std::vector<uint32_t> shares;  // of a group
    GroupForm form = {};           // likewise
    uint32_t begin = 0;
    uint32_t end = 0;
    double chunk_s = 0;
    double token_s = 0;
    double exchange_s = 0;        // of token_s, for gathers
    double chunk_exchange_s = 0;  // of chunk_s, likewise
    double head_s = 0;            // of token_s, for the head
  };
  PlanKind kind = PlanKind::kOneNode;
  std::vector<Part> parts = {};
  std::vector<Part> decode = {};  // of kApart
  double chunk_s = 0;             // of a long prompt
  double first_chunk_s = 0;       // through all parts, one after the other
  double token_s = 0;             // from one token to the next
  double exchange_s = 0;          // of token_s: messages between nodes
  double transfer_s = 0;          // of KV rows, from the end of prefill on
  uint32_t held_tokens = 0;       // of the prompt, whose KV rows are there or come from other nodes
  double fetch_s = 0;             // of first_token_s, until those of other nodes have come
  double first_token_s = 0;       // of the request
  double request_s = 0;
};

struct KindProblem {
  SplitProblem split;
  // The same nodes as groups: of all layers and the head, and of a layer alone. Without heads there
  // are no groups.
  GroupProblem group = {};
  GroupProblem layer = {};
  // How frames of each node grow, alone and in groups; without any each row costs the same.
  std::vector<FrameShape> alone_frames = {};
  std::vector<FrameShape> group_frames = {};
  double logits_bytes = 0;  // of a token, that a group with the head sends the node that leads
  // Of KV cache, a token's in one layer; 0: none may be sent to other nodes.
  double kv_row_bytes = 0;
  double longest_frame_s = 0;  // at a stage, of a prompt; 0: all are of chunks
  uint32_t prompt_tokens = 0;
  uint32_t answer_tokens = 0;
  // KV rows of the prompt's beginning that nodes have: such a part of a plan has those of its
  // layers, and sends them to others.
  struct Held {
    KindAnswer::Part by;
    uint32_t tokens = 0;
  };
  std::vector<Held> held = {};
};

// The best of each kind for the request, in the order of kinds; those that are not possible are
// missing. `fast_prefill`: what SearchSplit says of the problem's split.
std::vector<KindAnswer> SearchKinds(const KindProblem& problem, const SplitAnswer& fast_prefill);

// What a split takes of this request. The same as SearchKinds says of the split.
KindAnswer PipelineAnswer(const KindProblem& problem, const SplitAnswer& split);
// Likewise of any plan, whose nodes have memory for it. Nothing where a link that it needs is not
// known.
std::optional<KindAnswer> AnswerOfPlan(const KindProblem& problem,
                                       std::span<const KindAnswer::Part> parts,
                                       std::span<const KindAnswer::Part> decode);

// Whether each of `nodes` nodes has layers of it.
bool TakesAll(const KindAnswer& answer, size_t nodes);

// The simplest kind that is at most a tenth slower than the best: predictions are not exact, and
// machines that bring little are left to others. Nothing where there is none.
std::optional<size_t> ChooseKind(std::span<const KindAnswer> answers);

}  // namespace aster::plan
