// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/remote_drafts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "cluster/home.h"
#include "crypto/secrets.h"
#include "kernels/arithmetic_version.h"
#include "node/cluster_view.h"
#include "open/node_pool.h"

namespace aster::open {
namespace {

// "nova (comet), nova (ngram)".
std::string DescribeDrafters(const std::vector<cluster::DrafterDescription>& drafters) {
  std::string text;
  for (const cluster::DrafterDescription& drafter : drafters) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", drafter.model, drafter.drafter);
  }
  return text.empty() ? "none" : text;
}

// The node's drafters for this vocabulary.
std::vector<drafting::RemoteDrafter> DraftersOf(const node::NodeView& view,
                                                const Hash128& vocabulary) {
  std::vector<drafting::RemoteDrafter> found;
  if (!view.description || (view.status && view.status->is_drained)) return found;
  for (const cluster::DrafterDescription& drafter : view.description->drafters) {
    if (drafter.vocabulary != vocabulary) continue;
    found.push_back({.node = view.member.node,
                     .name = fmt::format("{} on {}", drafter.drafter, view.member.name),
                     .addresses = view.member.data_addresses,
                     .drafter = drafter.fingerprint});
  }
  return found;
}

// The drafters of one node, or of all if `node` is empty.
std::vector<drafting::RemoteDrafter> DraftersOf(const std::string& node,
                                                const std::vector<node::NodeView>& views,
                                                const Hash128& vocabulary) {
  std::vector<drafting::RemoteDrafter> found;
  for (const node::NodeView& view : views) {
    if (!node.empty() && view.member.name != node) continue;
    std::ranges::move(DraftersOf(view, vocabulary), std::back_inserter(found));
  }
  return found;
}

// Whether this machine knows the node. Nodes that started after it went off do not.
bool IsKnownHere(const std::string& node) {
  const auto home = cluster::Home::OfUser();
  if (!home.ok()) return false;
  const auto peers = home->LoadPeers();
  return peers.ok() && std::ranges::count(*peers, node, &cluster::KnownPeer::name) > 0;
}

// Why the node has no answer; nodes that are known to be off are not asked.
std::string WhySilent(const node::NodeView& view) {
  if (!view.why.empty()) return view.why;
  return fmt::format("it does not run ({})", cluster::MemberStateName(view.member.state));
}

// Why a named node has no drafter: an error if that will not change, otherwise a warning.
Status CheckFound(const std::string& node, const std::vector<node::NodeView>& views, size_t found) {
  if (node.empty() || found > 0) return Ok();
  for (const node::NodeView& view : views) {
    if (view.member.name != node) continue;
    const bool is_drained = view.status && view.status->is_drained;
    if (!view.description || is_drained) {
      log::Warn("a node drafts nothing",
                {{"node", node}, {"why", is_drained ? "it is drained" : WhySilent(view)}});
      return Ok();
    }
    return FailedPrecondition(
        fmt::format("node {} has no drafter of this model's vocabulary; it drafts for: {}. Give "
                    "its `aster node` --draft-for",
                    node, DescribeDrafters(view.description->drafters)));
  }
  if (!IsKnownHere(node)) return NotFound(fmt::format("no node of the cluster is called {}", node));
  log::Warn("a node drafts nothing", {{"node", node}, {"why", "it does not run"}});
  return Ok();
}

// A front end is not the machine's node, which has the same certificate and may run at the same
// time.
Result<std::unique_ptr<net::TcpNetwork>> StartNetwork(const cluster::Identity& identity) {
  net::Credentials credentials;
  credentials.authority = identity.ca_certificate;
  credentials.certificate = identity.certificate;
  credentials.key = identity.key;
  credentials.instance = TRY(crypto::RandomSecret(net::kInstanceBytes));
  return net::TcpNetwork::Start({.credentials = std::move(credentials),
                                 .listen = {},
                                 .name = "front end",
                                 .arithmetic = kernels::kArithmeticVersion,
                                 .admit = nullptr});
}

Result<cluster::Identity> IdentityOfUser() {
  const SystemClock clock;
  const cluster::Home home = TRY(cluster::Home::OfUser());
  return home.LoadIdentity(clock.WallNs() / kNsPerSecond);
}

Result<std::vector<node::NodeView>> LookAt(const std::vector<std::string>& via) {
  return TRY(ViewOfCluster(via))->Look();
}

// Searches the nodes that answer.
DrafterSearch::Look LookInto(const std::vector<std::string>& via, const std::string& node,
                             const Hash128& vocabulary) {
  std::shared_ptr<node::ClusterView> view;
  return [=]() mutable -> Result<DrafterSearch::Found> {
    if (view == nullptr) view = TRY(ViewOfCluster(via));
    auto views = view->Look();
    if (!views.ok()) {
      // The others were found through one of the failed nodes.
      view.reset();
      return views.error();
    }
    return DrafterSearch::Found{DraftersOf(node, *views, vocabulary), views->size()};
  };
}

}  // namespace

Result<std::unique_ptr<RemoteDrafts>> RemoteDrafts::Find(const std::string& node,
                                                         const gguf::ModelFiles& files,
                                                         const ClusterOptions& cluster,
                                                         bool keeps_looking) {
  auto drafts = std::make_unique<RemoteDrafts>();
  drafts->vocabulary_ = TRY(drafting::VocabularyOf(files));
  if (node.empty()) drafts->fallback_ = std::make_unique<draft::Proposers>(/*answers=*/nullptr);
  // Without a cluster there are no drafters, now or later.
  const auto identity = IdentityOfUser();
  if (!identity.ok()) {
    if (!node.empty()) return identity.error();
    log::Info("nodes draft nothing", {{"why", identity.error().message()}});
    return drafts;
  }
  const auto views = LookAt(cluster.via);
  if (views.ok()) {
    drafts->drafters_ = DraftersOf(node, *views, drafts->vocabulary_.digest);
    TRY(CheckFound(node, *views, drafts->drafters_.size()));
  } else {
    log::Warn("nodes draft nothing", {{"why", views.error().message()}});
  }
  if (!cluster.cluster) drafts->network_ = TRY(StartNetwork(*identity));
  if (keeps_looking) {
    drafts->search_ = std::make_unique<DrafterSearch>(
        LookInto(cluster.via, node, drafts->vocabulary_.digest), drafts->clock_);
  }
  return drafts;
}

engine::ProposerSource& RemoteDrafts::Source(net::Network* network) {
  if (source_ != nullptr) return *source_;
  drafting::RemoteOptions options;
  options.vocabulary = vocabulary_;
  options.fallback = fallback_.get();
  options.warn = [](const std::string& text) {
    log::Warn("a drafter is left out", {{"why", text}});
  };
  if (search_ != nullptr) options.found = [this] { return search_->Take(); };
  // On a network of its own this is the only receiver.
  options.receives = network_ != nullptr;
  net::Network* const used = network_ != nullptr ? network_.get() : network;
  source_ = std::make_unique<drafting::RemoteProposers>(used, drafters_, std::move(options));
  return *source_;
}

std::vector<drafting::RemoteDraftCounts> RemoteDrafts::counts() const {
  if (source_ == nullptr) return {};
  return source_->counts();
}

std::string DescribeRemoteDrafts(const std::vector<drafting::RemoteDraftCounts>& counts) {
  std::string lines;
  for (const drafting::RemoteDraftCounts& of : counts) {
    lines += fmt::format("{}{}: {} draft tokens proposed, {} accepted, {} cancelled{}",
                         lines.empty() ? "" : "\n", of.name, of.proposed, of.accepted, of.cancelled,
                         of.is_left_out ? "; it is left out" : "");
  }
  return lines;
}

RemoteDraftFigures FiguresOf(const std::vector<drafting::RemoteDraftCounts>& counts) {
  RemoteDraftFigures figures;
  for (const drafting::RemoteDraftCounts& of : counts) {
    figures.drafters += of.is_left_out ? 0 : 1;
    figures.proposed += of.proposed;
    figures.accepted += of.accepted;
    figures.cancelled += of.cancelled;
  }
  return figures;
}

}  // namespace aster::open
