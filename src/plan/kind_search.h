// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Compares kinds of plan for one request: a node alone, a pipeline, a group, a pipeline with
// groups, and prefill/decode disaggregation. Only numbers: must not know models, nodes or words.
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

// From the simplest to the one with most machines and messages.
enum class PlanKind : uint8_t {
  kOneNode,
  kPipeline,
  kGroup,
  kMixed,          // a pipeline in which at least one stage is a group
  kDisaggregated,  // prefill/decode disaggregation: two paths, of other nodes or of other parts
};

struct KindAnswer {
  struct Part {
    std::vector<size_t> nodes;     // of a group, the leading one first
    std::vector<uint32_t> shares;  // of a group
    GroupForm form = {};           // likewise
    uint32_t begin = 0;
    uint32_t end = 0;
    double chunk_s = 0;
    double token_s = 0;
    double exchange_s = 0;        // part of token_s: gathers
    double chunk_exchange_s = 0;  // part of chunk_s: gathers
    double head_s = 0;            // part of token_s: the head
  };
  PlanKind kind = PlanKind::kOneNode;
  std::vector<Part> parts = {};
  std::vector<Part> decode = {};  // of kApart
  double chunk_s = 0;             // of a long prompt
  double first_chunk_s = 0;       // through all parts, one after the other
  double token_s = 0;             // from one token to the next
  double exchange_s = 0;          // part of token_s: messages between nodes
  double transfer_s = 0;          // KV transfer after the end of prefill
  uint32_t held_tokens = 0;       // tokens of the prompt whose KV rows are held or fetched
  double fetch_s = 0;             // part of first_token_s: until fetched rows have arrived
  double first_token_s = 0;       // of the request
  double request_s = 0;
};

struct KindProblem {
  SplitProblem split;
  // The same nodes as groups: for all layers and the head, and for a layer alone. If there are no
  // heads to divide, there are no groups.
  GroupProblem group = {};
  GroupProblem layer = {};
  // How the time of frames grows with their rows, by node, alone and in groups; if empty, each row
  // costs the same.
  std::vector<FrameShape> alone_frames = {};
  std::vector<FrameShape> group_frames = {};
  double logits_bytes = 0;  // logits of a token that a group's nodes send to the leading one
  // Bytes of a token's KV rows in one layer; 0: KV rows may not be sent to other nodes.
  double kv_row_bytes = 0;
  double longest_frame_s = 0;  // limit for a prompt's frame at a stage; 0: all frames are chunks
  uint32_t prompt_tokens = 0;
  uint32_t answer_tokens = 0;
  // KV rows of the prompt's beginning that nodes have.
  struct Held {
    KindAnswer::Part by;
    uint32_t tokens = 0;
  };
  std::vector<Held> held = {};
};

// The best plan of each kind for the request, in the order of kinds, without impossible ones.
// `fast_prefill`: the result of SearchSplit for the problem's split.
std::vector<KindAnswer> SearchKinds(const KindProblem& problem, const SplitAnswer& fast_prefill);

// The predicted times of a split for this request, the same as SearchKinds finds.
KindAnswer PipelineAnswer(const KindProblem& problem, const SplitAnswer& split);
// Likewise for any plan that its nodes have memory for. Nullopt if a link that it needs is unknown.
std::optional<KindAnswer> AnswerOfPlan(const KindProblem& problem,
                                       std::span<const KindAnswer::Part> parts,
                                       std::span<const KindAnswer::Part> decode);

// Whether each of `nodes` nodes has layers in the plan.
bool TakesAll(const KindAnswer& answer, size_t nodes);

// The simplest kind that is at most a tenth slower than the best: predictions are not exact, and
// machines that gain little stay free for others. Nullopt if there is none.
std::optional<size_t> ChooseKind(std::span<const KindAnswer> answers);

}  // namespace aster::plan
