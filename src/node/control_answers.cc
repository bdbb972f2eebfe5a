// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/control_answers.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "fetch/manifest.h"

namespace aster::node {

ControlAnswers::ControlAnswers(AnswerSources sources)
    : sources_(std::move(sources)), admission_(*sources_.home, *sources_.clock) {}

Status ControlAnswers::Admit(const rpc::NodeId& from) {
  if (!sources_.membership->IsRevoked(from)) return Ok();
  return Error(Code::kPermissionDenied,
               fmt::format("node {} was revoked: it is not a member of this cluster any more",
                           from.ToText()));
}

Result<cluster::JoinReply> ControlAnswers::Join(const cluster::JoinRequest& request) {
  return admission_.Admit(request);
}

Result<rpc::Gossip> ControlAnswers::Exchange(const rpc::NodeId& from, const rpc::Gossip& gossip) {
  return sources_.membership->Exchange(from, gossip);
}

// From a file of this machine, or from weights that it has fetched or assembled.
Result<rpc::ModelManifest> ControlAnswers::FetchManifest(const Hash128& fingerprint) {
  if (const auto held = sources_.models->Find(fingerprint))
    return fetch::MakeManifest(*held->files, held->fingerprint);
  if (const auto known = sources_.store->FindManifest(fingerprint)) return *known;
  return NotFound(
      fmt::format("no file here belongs to the model {}", fingerprint.ToHex().substr(0, 8)));
}

Status ControlAnswers::FetchTensor(const Hash128& fingerprint, std::string_view tensor,
                                   uint64_t offset, const rpc::ByteSink& sink) {
  if (const auto held = sources_.models->Find(fingerprint))
    return fetch::ReadTensor(*held->files, tensor, offset, sink);
  const auto kept = sources_.store->Find(fingerprint);
  if (kept.ok()) return fetch::ReadTensor(*kept->files, tensor, offset, sink);
  // The reason names files of this machine, so the other node does not get it.
  log::Debug("weights that are not here were asked for", {{"why", kept.error().message()}});
  return NotFound(
      fmt::format("no weights of the model {} are here", fingerprint.ToHex().substr(0, 8)));
}

Result<rpc::SessionReceipt> ControlAnswers::PutSession(const rpc::NodeId& from,
                                                       const rpc::SessionPart& part) {
  if (sources_.sessions == nullptr) return ControlService::PutSession(from, part);
  return sources_.sessions->Take(from, part);
}

Status ControlAnswers::OfferWeights(const rpc::NodeId& from, const rpc::WeightsOffer& offer) {
  sources_.offers->Add(from, offer, sources_.clock->NowNs());
  return Ok();
}

}  // namespace aster::node
