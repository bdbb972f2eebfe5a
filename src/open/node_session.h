// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The nodes that a command may use, and this process's place among them. Must not know what is
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
  // Starts or finds the nodes, and reads the model's files as far as nodes tell it by.
  static Result<std::unique_ptr<NodeSession>> Start(const gguf::ModelFiles& files,
                                                    const ModelOptions& model,
                                                    const ClusterOptions& cluster,
                                                    Reporter& reporter);
  // A trace that was not saved is saved, if that is possible.
  ~NodeSession();
  NodeSession(const NodeSession&) = delete;
  NodeSession& operator=(const NodeSession&) = delete;

  // That may be given layers.
  const std::vector<plan::PlanNode>& nodes() const { return nodes_; }
  const model::Shape& shape() const { return model_.shape; }
  uint32_t layer_count() const { return model_.shape.layer_count; }
  // Whether groups of nodes may own experts.
  bool has_experts() const { return model_.shape.experts.count > 0; }
  // An error where groups of the plan cannot compute this model.
  Status CheckGroups(const plan::Plan& plan) const;
  // Of these, nodes of their own.
  size_t other_count() const { return pool_->nodes().size(); }
  // Of --kv-cache, in this process and in those that it has started; nothing without.
  std::optional<disk::DiskPagesCounts> KvCache() const;
  // Of nodes that were started for this: one ends at once, without a word.
  Status Kill(const wire::NodeId& node) { return pool_->Kill(node); }
  // Plans from now on leave these nodes out.
  Status SetDrained(std::vector<wire::NodeId> nodes) { return pool_->SetDrained(std::move(nodes)); }
  // Whether plans follow what nodes can do, so that another one may take over at any time.
  bool plans_by_ability() const { return split_ == "auto" && decode_.empty() && options_.cluster; }
  bool is_cluster() const { return options_.cluster; }
  // What is planned for; and the nodes as another thread may ask them.
  WantedPlan Wanted() const;
  Result<std::unique_ptr<NodePool>> AnotherPool() const;
  // Plans from now on take nodes to have that much of their rates.
  void SetShares(NodeShares shares) { shares_ = std::move(shares); }
  // Plans from now on are for requests like these, which come one at a time; none: for several at
  // once.
  void SetUsualRequests(std::vector<ExpectedRequest> requests) {
    usual_requests_ = std::move(requests);
  }
  // With which this process talks to them.
  net::Network& network() { return *network_; }
  // Of a node that nothing is wanted from any more; a later plan may connect to it again.
  void Disconnect(const wire::NodeId& node) {
    network_->Disconnect(node, Error(Code::kUnavailable, "it is drained"));
  }
  // Conductors that are opened from now on pass each event of the network on
  // (ConductorOptions::on_event).
  void TellEvents(std::function<bool(const net::Event&)> on_event) {
    on_event_ = std::move(on_event);
  }
  // Options that make it compute other bits than one machine does; nothing where none does.
  std::string Inexact() const;
  // That the options ask for.
  Result<plan::Plan> Plan();
  // Why the last plan is as it is, in lines for people; nothing where they wanted it so.
  const std::vector<std::string>& reasons() const { return reasons_; }
  // Kinds of plan that were compared for it; none where it was typed, or rates are not known.
  const std::vector<plan::Alternative>& alternatives() const { return alternatives_; }
  // Nodes of the cluster that plans leave out, and why: what a node answered that could not load
  // its layers.
  std::vector<AbsentNode> LeftOut() const;
  // Tokens/s that the last plan expects, of long prompts and of a single answer; 0: not known.
  struct PlannedRates {
    double prefill_tokens_per_s = 0;
    double decode_tokens_per_s = 0;
  };
  const PlannedRates& planned() const { return planned_; }

  // A conductor whose route is open. The session, the tokenizer (or null) and the drafters here (or
  // null) outlive it.
  Result<std::unique_ptr<conduct::Conductor>> Open(const plan::Plan& plan,
                                                   const text::Tokenizer* tokenizer,
                                                   uint32_t max_running, int64_t longest_frame_ns,
                                                   Reporter& reporter,
                                                   engine::ProposerSource* proposers = nullptr);

  // OpenedModel::PrepareTurn, of that conductor.
  Result<std::optional<std::string>> PrepareTurn(const ExpectedRequest& turn,
                                                 conduct::Conductor& conductor, double opening_s);

  // Where the options ask for a trace: what its conductors did until now becomes the file.
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
  // The decode nodes, where the options name any.
  Status AddDecoders(plan::Plan& plan);
  Result<plan::Plan> Replan(const plan::Plan& broken, std::span<const wire::NodeId> lost,
                            const Error& why);
  void NoteLeftOut(std::span<const wire::NodeId> lost, const Error& why);

  const plan::RouteModel model_;
  const conduct::RouteOptions route_;
  const plan::ModelLoad load_;
  const std::string split_;
  const std::string split_option_;  // as people have called it
  const std::string decode_;
  const ClusterOptions options_;
  const bool has_kv_cache_;
  std::unique_ptr<NodePool> pool_;
  std::vector<plan::PlanNode> nodes_;  // the pool's, and this process where the split names it
  std::vector<std::string> reasons_;
  std::vector<plan::Alternative> alternatives_;
  std::vector<std::string> left_out_;             // while a route is opened, and not said yet
  std::map<wire::NodeId, std::string> failures_;  // of nodes that were left out for it
  PlannedRates planned_;
  NodeShares shares_;  // of their rates that nodes have
  std::vector<ExpectedRequest> usual_requests_;
  std::vector<plan::HeldRows> held_;  // of the only request's text, for its plan
  plan::TurnChanges turn_changes_;
  std::string auto_split_;  // that was planned by what nodes can do, and may be planned anew
  std::unique_ptr<net::TcpNetwork> network_;
  std::shared_ptr<disk::DiskPages> own_pages_;  // or null
  std::unique_ptr<stage::FileSliceSource> own_source_;
  std::unique_ptr<stage::StageServer> own_;  // where the split names this command itself
  conduct::Trace trace_;
  std::function<bool(const net::Event&)> on_event_;
  std::optional<AtomicFile> trace_file_;  // until it is saved, where one is wanted
};

// What each stage has spent, a line each.
std::string DescribeHops(const conduct::Conductor& conductor);

}  // namespace aster::open
