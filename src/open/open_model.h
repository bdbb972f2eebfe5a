// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The generator of a command: a model that this process has loaded, or several nodes. Must not know
// what it generates.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "conduct/live_request.h"
#include "conduct/stage_pace.h"
#include "disk/disk_pages.h"
#include "engine/generator.h"
#include "gguf/model_files.h"
#include "open/cluster_options.h"
#include "open/drafts.h"
#include "open/figures.h"
#include "open/model_options.h"
#include "open/node_pool.h"
#include "open/plan_by_ability.h"
#include "open/reporter.h"
#include "plan/planner.h"
#include "text/tokenizer.h"
#include "wire/messages.h"

namespace aster::open {

// KV rows that a node held and sent, so that they were not computed.
struct RowsFromNode {
  std::string node;
  uint64_t tokens = 0;
  uint64_t bytes = 0;
};

// Prompts with prefill/decode disaggregation.
struct KvTransfers {
  uint64_t prompts = 0;
  uint64_t bytes = 0;      // of KV rows that the decode nodes lacked
  int64_t exposed_ns = 0;  // from the end of prefill to the first token
};

// The route of a model, as a watch of its nodes sees it.
struct RouteNow {
  plan::Plan plan;
  std::vector<conduct::StagePace::Pace> paces;  // of both paths' stages
  std::vector<wire::NodeId> drained;
  std::vector<ExpectedRequest> usual_requests;  // of late; none: several at once, or few
  bool is_busy = false;                         // requests run
  int64_t opening_ns = 0;                       // that the last route took; 0: not known
  bool follows = true;  // what nodes can do; else it is replaced only where a node of it is drained
};
struct Lookout {
  std::unique_ptr<NodePool> pool;
  WantedPlan wanted;
};

struct OpenOptions {
  const ModelOptions* model = nullptr;
  const ClusterOptions* cluster = nullptr;
  const DraftOptions* draft = nullptr;          // null: no speculative decoding
  engine::ProposerSource* proposers = nullptr;  // without `draft`: drafters of the caller
  uint32_t batch_tokens = 512;  // of prompts that this process computes in a step at most
  int64_t longest_step_ns = 0;  // engine::SchedulerOptions
  uint32_t max_running = 64;
  bool is_kept = false;  // the KV cache is to outlive the command
};

// A step of a prompt that a person waits for: progress and cancelling come between two.
inline constexpr int64_t kLongestStepNs = 750 * kNsPerMs;

class OpenedModel {
 public:
  virtual ~OpenedModel() = default;

  virtual engine::Generator& generator() = 0;
  // What each node spent, and what a cache on the disk was good for, in lines for people; nothing
  // where there is neither.
  virtual std::string DescribeWork() const { return ""; }
  // Of pages on the disk that this process and those that it has started read and write; nothing
  // where there are none.
  virtual std::optional<disk::DiskPagesCounts> kv_cache() { return std::nullopt; }
  // Options that make it answer other bits than one machine does; nothing where none does.
  virtual std::string inexact() const { return ""; }
  // Tokens of one conversation that there is memory for; 0 where not one page fits.
  virtual uint32_t capacity_tokens() const = 0;
  // Its memory, as far as it is known here. On the generator's thread.
  virtual KvFigures kv() const = 0;
  // What the nodes have spent; nothing where there are none. On the generator's thread.
  virtual HopsFigures hops() const { return {}; }
  // What other machines have drafted. On the generator's thread.
  virtual RemoteDraftFigures remote_drafts() const { return {}; }
  // Nodes that held KV rows of the prompts, in the order of their names.
  virtual std::vector<RowsFromNode> fetched() const { return {}; }
  virtual KvTransfers kv_transfers() const { return {}; }
  // Of the last requests, what was expected of their times and what came. On the generator's
  // thread.
  virtual std::vector<conduct::Foreseen> foreseen() const { return {}; }
  // How a request that has just ended was computed: its plan, as it is typed, and what was expected
  // of its times beside what came; nothing where there are no nodes. On the generator's thread.
  struct Computed {
    std::string plan;
    conduct::Foreseen foreseen;
  };
  virtual std::optional<Computed> ComputedHow(engine::RequestId /*request*/) const {
    return std::nullopt;
  }
  // Kinds of plan that were compared, and the one that was taken; none where nothing was planned.
  virtual std::vector<plan::Alternative> alternatives() const { return {}; }
  // Nodes of the cluster that can be given no layers now, and why.
  virtual std::vector<AbsentNode> left_out() const { return {}; }
  // What runs now, on a cluster; nothing elsewhere. On the generator's thread.
  virtual std::optional<RouteNow> route_now() const { return std::nullopt; }
  // Plans anew, with nodes that have that much of their rates, for such requests (none: for
  // several at once); requests go on with the next route, which is opened at once where there are
  // none. On the generator's thread.
  virtual Status Rearrange(NodeShares shares, std::vector<ExpectedRequest> usual_requests,
                           const std::string& why);
  // Before a turn of the only conversation, where plans follow what nodes can do: another plan
  // takes over if it answers this turn sooner, and turns have lost what the change costs. Why, for
  // people; nothing where the plan stays. On the generator's thread.
  virtual Result<std::optional<std::string>> PrepareTurn(const ExpectedRequest& /*turn*/) {
    return std::optional<std::string>();
  }
  // What a watch of the nodes takes, which looks at them on a thread of its own.
  virtual Result<Lookout> MakeLookout() const;
  // Leaves these nodes, and no others, out of its plans from now on; requests go on elsewhere. An
  // error, which says why the others cannot take over, changes nothing. On the generator's thread.
  virtual Status SetDrained(const std::vector<wire::NodeId>& nodes);
  // Nodes that no plan has any more, and whose KV rows have moved: they are told by the end of the
  // connection that they may be switched off. On the generator's thread.
  virtual void Leave(std::span<const wire::NodeId> /*nodes*/) {}
  // At the end: what the options ask to be kept of it.
  virtual Status Save() { return Ok(); }
};

// Files, tokenizer (or null) and clock outlive it. The reporter is told how far it is.
Result<std::unique_ptr<OpenedModel>> OpenModel(const gguf::ModelFiles& files,
                                               const text::Tokenizer* tokenizer, const Clock& clock,
                                               const OpenOptions& options, Reporter& reporter);

}  // namespace aster::open
