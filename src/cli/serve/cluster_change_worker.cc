// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/serve/cluster_change_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"
#include "cli/cluster/cluster_commands.h"
#include "cli/cluster/cluster_invitation.h"
#include "node/addresses.h"

namespace aster::cli {
namespace {

std::string ChangedJson(const ChosenNode& node, const char* what, bool value) {
  const nlohmann::ordered_json json = {
      {"node", node.node.value.ToHex()}, {"name", node.name}, {what, value}};
  return json.dump() + "\n";
}

// Without a running node on this machine the code is still valid: one may be started.
Result<std::string> InviteNow(int64_t minutes) {
  OwnCluster own = TRY(LoadOwnCluster());
  std::vector<std::string> addresses = RunningNodeAddresses(own);
  const bool is_answered = !addresses.empty();
  if (!is_answered) {
    addresses = TRY(node::ReachableAt(TRY(node::ParseListen(":7424")).control, ""));
  }
  const OpenInvitation invitation =
      TRY(Invite(std::move(own), minutes, std::move(addresses), is_answered));
  log::Info("invited", {{"id", invitation.code.Id()}});
  return InvitationJson(invitation);
}

Result<std::string> RevokeNow(const std::string& text) {
  const ChosenNode node = TRY(RevokeNode(TRY(LoadOwnCluster()), text));
  log::Info("revoked", {{"node", node.node.value.ToHex()}, {"name", node.name}});
  return ChangedJson(node, "revoked", true);
}

}  // namespace

ClusterChangeWorker::ClusterChangeWorker(std::vector<Model> models)
    : models_(std::move(models)), thread_("changes of the cluster") {}

void ClusterChangeWorker::Invite(int64_t minutes, Done done) {
  thread_.Add([minutes] { return InviteNow(minutes); }, std::move(done));
}

void ClusterChangeWorker::Revoke(std::string node, Done done) {
  thread_.Add([node = std::move(node)] { return RevokeNow(node); }, std::move(done));
}

void ClusterChangeWorker::Drain(std::string node, bool is_drained, Done done) {
  thread_.Add([this, node = std::move(node), is_drained] { return DrainNow(node, is_drained); },
              std::move(done));
}

std::vector<std::string> ClusterChangeWorker::Drained() const {
  const MutexLock lock(mu_);
  std::vector<std::string> ids;
  for (const wire::NodeId& node : drained_) ids.push_back(node.value.ToHex());
  return ids;
}

Result<std::string> ClusterChangeWorker::DrainNow(const std::string& text, bool is_drained) {
  const OwnCluster own = TRY(LoadOwnCluster());
  const ChosenNode chosen = TRY(ChooseNode(TRY(own.home.LoadPeers()), text));
  std::vector<wire::NodeId> drained;
  {
    const MutexLock lock(mu_);
    drained = drained_;
  }
  const std::vector<wire::NodeId> former = drained;
  std::erase(drained, chosen.node);
  if (is_drained) drained.push_back(chosen.node);
  if (drained != former) {
    const Status told = UpdateModels(drained);
    if (!told.ok()) {
      // Undoes the change for the models that were told first, as far as possible.
      static_cast<void>(UpdateModels(former));
      return told.error();
    }
  }
  log::Info(is_drained ? "drained" : "no longer drained",
            {{"node", chosen.node.value.ToHex()}, {"name", chosen.name}});
  const MutexLock lock(mu_);
  drained_ = std::move(drained);
  return ChangedJson(chosen, "drained", is_drained);
}

Status ClusterChangeWorker::UpdateModels(const std::vector<wire::NodeId>& drained) {
  for (const Model& model : models_) {
    // When this is reported, drained nodes may be switched off: so their KV rows of conversations
    // move first.
    const Status told = model.loop->CallBetweenSteps([&]() -> Status {
      TRY(model.opened->SetDrained(drained));
      model.loop->MoveConversations();
      return Ok();
    });
    if (!told.ok()) return Error(told.error()).In(model.name);
  }
  return Ok();
}

}  // namespace aster::cli
