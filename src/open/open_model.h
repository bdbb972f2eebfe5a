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

// KV rows that a node sent, so that they were not computed.
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
  std::vector<ExpectedRequest> usual_requests;  // recent; empty: several at once, or few
  bool is_busy = false;                         // requests run
  int64_t opening_ns = 0;                       // duration of opening the last route; 0: unknown
  bool follows = true;  // false: it is replaced only if a node of it is drained
};
struct PlanWatchPool {
  std::unique_ptr<NodePool> pool;
  WantedPlan wanted;
};

struct OpenOptions {
  const ModelOptions* model = nullptr;
  const ClusterOptions* cluster = nullptr;
  const DraftOptions* draft = nullptr;          // null: no speculative decoding
  engine::ProposerSource* proposers = nullptr;  // without `draft`: drafters of the caller
  uint32_t batch_tokens = 512;  // the most tokens of prompts that this process computes in a step
  int64_t longest_step_ns = 0;  // engine::SchedulerOptions
  uint32_t max_running = 64;
  bool is_kept = false;  // the KV cache will be saved (sessions)
};

// A step of a prompt that a user waits for: progress and cancelling come between two.
inline constexpr int64_t kLongestStepNs = 750 * kNsPerMs;

class OpenedModel {
 public:
  virtual ~OpenedModel() = default;

  virtual engine::Generator& generator() = 0;
  // The times of each node, and the counters of the KV cache on disk, in lines for users; empty if
  // there is neither.
  virtual std::string DescribeWork() const { return ""; }
  // The counters of the KV cache on disk, of this process and those that it has started; nullopt
  // without one.
  virtual std::optional<disk::DiskPagesCounts> kv_cache() { return std::nullopt; }
  // Options that make answers inexact, so that they may differ from one machine's; empty: none.
  virtual std::string inexact() const { return ""; }
  // Tokens of one conversation that fit into the KV cache; 0 if not one page fits.
  virtual uint32_t capacity_tokens() const = 0;
  // The memory of its weights and its KV cache, as far as known here. On the generator's thread.
  virtual MemoryFigures memory() const = 0;
  // The times of the nodes; empty without nodes. On the generator's thread.
  virtual HopsFigures hops() const { return {}; }
  // Counters of drafters on other machines. On the generator's thread.
  virtual RemoteDraftFigures remote_drafts() const { return {}; }
  // Nodes that sent KV rows of the prompts, in the order of their names.
  virtual std::vector<RowsFromNode> fetched() const { return {}; }
  virtual KvTransfers kv_transfers() const { return {}; }
  // Predicted and actual times of the last requests. On the generator's thread.
  virtual std::vector<conduct::RequestForecast> forecasts() const { return {}; }
  // How a request that has just ended was computed: its plan, as a user would type it, and its
  // predicted and actual times; nullopt without nodes. On the generator's thread.
  struct Computed {
    std::string plan;
    conduct::RequestForecast forecast;
  };
  virtual std::optional<Computed> ComputedHow(engine::RequestId /*request*/) const {
    return std::nullopt;
  }
  // The kinds of plan that were compared, and the chosen one; empty if nothing was planned.
  virtual std::vector<plan::Alternative> alternatives() const { return {}; }
  // Nodes of the cluster that cannot be given layers now, and why.
  virtual std::vector<AbsentNode> left_out() const { return {}; }
  // The present route on a cluster; nullopt without a cluster. On the generator's thread.
  virtual std::optional<RouteNow> route_now() const { return std::nullopt; }
  // Makes another plan with the nodes of that pool, at these shares of their rates, for requests
  // like these (empty: for several at once). Requests continue on the next route; if there are
  // none, it is opened at once. On the generator's thread.
  virtual Status Rebalance(const NodePool& seen, NodeShares shares,
                           std::vector<ExpectedRequest> usual_requests, const std::string& why);
  // Call it before a turn of the only conversation. With --split auto another plan takes over if it
  // answers this turn sooner, and turns have lost as much time as the change costs. Returns the
  // reason, for users; nullopt if the plan stays. On the generator's thread.
  virtual Result<std::optional<std::string>> PrepareTurn(const ExpectedRequest& /*turn*/) {
    return std::optional<std::string>();
  }
  // What PlanWatch needs to look at the nodes on a thread of its own.
  virtual Result<PlanWatchPool> MakePlanWatchPool() const;
  // Later plans leave out these nodes, and no others; requests continue elsewhere. If the other
  // nodes cannot take over, nothing changes, and the error says why. On the generator's thread.
  virtual Status SetDrained(const std::vector<wire::NodeId>& nodes);
  // Closes the connections to nodes that no plan uses any more and whose KV rows have moved: so
  // they know that they may be switched off. On the generator's thread.
  virtual void Leave(std::span<const wire::NodeId> /*nodes*/) {}
  // Call it at the end: writes the files that the options ask for (--trace).
  virtual Status Save() { return Ok(); }
};

// Files, tokenizer (or null) and clock outlive it. The reporter shows progress.
Result<std::unique_ptr<OpenedModel>> OpenModel(const gguf::ModelFiles& files,
                                               const text::Tokenizer* tokenizer, const Clock& clock,
                                               const OpenOptions& options, Reporter& reporter);

}  // namespace aster::open
