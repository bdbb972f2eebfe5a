// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The nodes that a command may use, and this process's role among them. Must not know what is
// computed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"
#include "conduct/conductor.h"
#include "conduct/trace.h"
#include "disk/disk_pages.h"
#include "gguf/model_files.h"
#include "net/tcp_network.h"
#include "open/cluster_options.h"
#include "open/model_options.h"
#include "open/node_pool.h"
#include "open/plan_by_ability.h"
#include "open/reporter.h"
#include "plan/plan.h"
#include "plan/turn_changes.h"
#include "stage/file_slice_source.h"
#include "stage/stage_server.h"
#include "text/tokenizer.h"

namespace aster::open {

class NodeSession {
 public:
  // Starts or finds the nodes, and reads the part of the model's files that identifies the model.
  static Result<std::unique_ptr<NodeSession>> Start(const gguf::ModelFiles& files,
                                                    const ModelOptions& model,
                                                    const ClusterOptions& cluster,
                                                    Reporter& reporter);
  // Saves the trace if Save was not called and it is possible.
  ~NodeSession();
  NodeSession(const NodeSession&) = delete;
  NodeSession& operator=(const NodeSession&) = delete;

  // The nodes that may be given layers.
  const std::vector<plan::PlanNode>& nodes() const { return nodes_; }
  const model::Shape& shape() const { return model_.shape; }
  uint32_t layer_count() const { return model_.shape.layer_count; }
  // Whether groups of nodes may own experts.
  bool has_experts() const { return model_.shape.experts.count > 0; }
  // An error if groups of the plan cannot compute this model.
  Status CheckGroups(const plan::Plan& plan) const;
  // The number of these nodes without this process.
  size_t other_count() const { return pool_->nodes().size(); }
  // The --kv-cache counters of this process and those that it has started; nullopt without a cache.
  std::optional<disk::DiskPagesCounts> KvCache() const;
  // Kills a node that this command has started.
  Status Kill(const wire::NodeId& node) { return pool_->Kill(node); }
  // Later plans leave these nodes out.
  Status SetDrained(std::vector<wire::NodeId> nodes) { return pool_->SetDrained(std::move(nodes)); }
  // Whether plans are made from the nodes' rates, so that another one may take over at any time.
  bool plans_by_ability() const { return split_ == "auto" && decode_.empty() && options_.cluster; }
  bool is_cluster() const { return options_.cluster; }
  // The input of plans; also for another pool of the same nodes, on another thread.
  WantedPlan Wanted() const;
  Result<std::unique_ptr<NodePool>> AnotherPool() const;
  // The next plan uses what that pool has seen, without asking the nodes again.
  void SeeAs(const NodePool& seen);
  // Later plans count nodes at these shares of their rates.
  void SetShares(NodeShares shares) { shares_ = std::move(shares); }
  // Later plans are for requests like these, which come one at a time; empty: for several at once.
  void SetUsualRequests(std::vector<ExpectedRequest> requests) {
    usual_requests_ = std::move(requests);
  }
  // The network that connects this process to the nodes.
  net::Network& network() { return *network_; }
  // Closes the connection to a node that is not needed any more; a later plan may connect again.
  void Disconnect(const wire::NodeId& node) {
    network_->Disconnect(node, Error(Code::kUnavailable, "it is drained"));
  }
  // Conductors opened later pass on each event of the network (ConductorOptions::on_event).
  void SetEventHandler(std::function<bool(const net::Event&)> on_event) {
    on_event_ = std::move(on_event);
  }
  // Options that make results inexact, so that they may differ from one machine's; empty: none.
  std::string Inexact() const;
  // The plan that the options ask for.
  Result<plan::Plan> Plan();
  // Why the last plan is as it is, in lines for users; empty if the plan was typed.
  const std::vector<std::string>& reasons() const { return reasons_; }
  // The kinds of plan that were compared; empty if it was typed, or rates are unknown.
  const std::vector<plan::Alternative>& alternatives() const { return alternatives_; }
  // Nodes of the cluster that plans leave out, and why: for instance the error of a node that could
  // not load its layers.
  std::vector<AbsentNode> LeftOut() const;
  // The last plan's predicted tokens/s, for long prompts and for a single answer; 0: unknown.
  struct PlannedRates {
    double prefill_tokens_per_s = 0;
    double decode_tokens_per_s = 0;
  };
  const PlannedRates& planned() const { return planned_; }

  // A conductor with an open route. The session, the tokenizer (or null) and the local drafters (or
  // null) outlive it.
  Result<std::unique_ptr<conduct::Conductor>> Open(const plan::Plan& plan,
                                                   const text::Tokenizer* tokenizer,
                                                   uint32_t max_running, int64_t longest_frame_ns,
                                                   Reporter& reporter,
                                                   engine::ProposerSource* proposers = nullptr);

  // OpenedModel::PrepareTurn, for that conductor.
  Result<std::optional<std::string>> PrepareTurn(const ExpectedRequest& turn,
                                                 conduct::Conductor& conductor, double opening_s);

  // Writes the trace of all conductors so far, if the options ask for one.
  Status SaveTrace();

 private:
  NodeSession(plan::RouteModel model, conduct::RouteOptions route, plan::ModelLoad load,
              const ClusterOptions& cluster, std::string split, std::string decode,
              bool has_kv_cache)
      : model_(std::move(model)),
        route_(std::move(route)),
        load_(std::move(load)),
        split_(std::move(split)),
        split_option_(cluster.split_option),
        decode_(std::move(decode)),
        options_(cluster),
        has_kv_cache_(has_kv_cache) {}

  void AddOwnStage(const gguf::ModelFiles& files, const engine::LocalModelOptions& engine,
                   const std::shared_ptr<disk::DiskPages>& pages);
  void TakeNodes();
  std::vector<conduct::KvPeer> Peers() const;
  conduct::PlannedPath PlannedTimes(std::span<const plan::PlanStage> path) const;
  std::vector<plan::HeldRows> FindHeld();
  Result<plan::Plan> PlanForNodes();
  Result<std::vector<plan::PlanStage>> ParsePath(const std::string& text) const;
  // Adds the decode nodes if the options name any.
  Status AddDecoders(plan::Plan& plan);
  void ExplainDrafter(const plan::Plan& plan);
  Result<plan::Plan> Replan(const plan::Plan& broken, std::span<const wire::NodeId> lost,
                            const Error& why);
  void NoteLeftOut(std::span<const wire::NodeId> lost, const Error& why);

  const plan::RouteModel model_;
  const conduct::RouteOptions route_;
  const plan::ModelLoad load_;
  const std::string split_;
  const std::string split_option_;  // as the user called it
  const std::string decode_;
  const ClusterOptions options_;
  const bool has_kv_cache_;
  std::unique_ptr<NodePool> pool_;
  std::vector<plan::PlanNode> nodes_;  // the pool's, and this process if the split names it
  std::vector<std::string> reasons_;
  std::vector<plan::Alternative> alternatives_;
  std::vector<std::string> left_out_;             // not reported yet, while a route is opened
  std::map<wire::NodeId, std::string> failures_;  // why nodes are left out
  PlannedRates planned_;
  bool has_seen_ = false;  // SeeAs has set the input of the next plan
  NodeShares shares_;      // of the nodes' rates
  std::vector<ExpectedRequest> usual_requests_;
  std::vector<plan::HeldRows> held_;  // KV rows of the only request's text, for its plan
  plan::TurnChanges turn_changes_;
  std::string auto_split_;  // planned from the nodes' rates, may be planned again
  std::unique_ptr<net::TcpNetwork> network_;
  std::shared_ptr<disk::DiskPages> own_pages_;  // null: none
  std::unique_ptr<stage::FileSliceSource> own_source_;
  std::unique_ptr<stage::StageServer> own_;  // if the split names this command itself
  conduct::Trace trace_;
  std::function<bool(const net::Event&)> on_event_;
  std::optional<AtomicFile> trace_file_;  // until it is saved, if one is wanted
};

// The times of each stage, a line each.
std::string DescribeHops(const conduct::Conductor& conductor);

}  // namespace aster::open
