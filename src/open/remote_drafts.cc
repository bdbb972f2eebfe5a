// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/remote_drafts.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
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

// Those of a node that draft for the vocabulary.
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

Status CheckFound(const std::string& node, const std::vector<node::NodeView>& views, size_t found) {
  if (node.empty() || found > 0) return Ok();
  for (const node::NodeView& view : views) {
    if (view.member.name != node) continue;
    if (!view.description) {
      return Error(Code::kUnavailable, fmt::format("node {} does not answer: {}", node, view.why));
    }
    if (view.status && view.status->is_drained)
      return Error(Code::kUnavailable, fmt::format("node {} is drained", node));
    return FailedPrecondition(
        fmt::format("node {} has no drafter of this model's vocabulary; it drafts for: {}. Give "
                    "its `aster node` --draft-for",
                    node, DescribeDrafters(view.description->drafters)));
  }
  return NotFound(fmt::format("no node of the cluster is called {}", node));
}

// A front end is not the machine's node, which has the same certificate and may run beside it.
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

}  // namespace

Result<std::unique_ptr<RemoteDrafts>> RemoteDrafts::Find(const std::string& node,
                                                         const gguf::ModelFiles& files,
                                                         const ClusterOptions& cluster) {
  auto drafts = std::make_unique<RemoteDrafts>();
  drafts->vocabulary_ = TRY(drafting::VocabularyOf(files));
  if (node.empty()) drafts->beside_ = std::make_unique<draft::Proposers>(/*answers=*/nullptr);
  auto view = ViewOfCluster(cluster.via);
  if (!view.ok()) {
    if (!node.empty()) return view.error();
    log::Info("nodes draft nothing", {{"why", view.error().message()}});
    return drafts;
  }
  const std::vector<node::NodeView> views = TRY((*view)->Look());
  for (const node::NodeView& seen : views) {
    if (!node.empty() && seen.member.name != node) continue;
    for (drafting::RemoteDrafter& drafter : DraftersOf(seen, drafts->vocabulary_.digest))
      drafts->drafters_.push_back(std::move(drafter));
  }
  TRY(CheckFound(node, views, drafts->drafters_.size()));
  if (!cluster.cluster) drafts->network_ = TRY(StartNetwork((*view)->identity()));
  return drafts;
}

engine::ProposerSource& RemoteDrafts::Source(net::Network* network) {
  if (source_ != nullptr) return *source_;
  drafting::RemoteOptions options;
  options.vocabulary = vocabulary_;
  options.beside = beside_.get();
  options.complain = [](const std::string& text) {
    log::Warn("a drafter is left out", {{"why", text}});
  };
  // On a network of its own nothing else takes events.
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

}  // namespace aster::open
