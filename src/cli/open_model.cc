// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/open_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "cli/console.h"
#include "cli/node_pool.h"
#include "fetch/manifest.h"
#include "node/ask.h"

namespace aster::cli {
namespace {

bool IsWhole(const cluster::HeldModel& held) {
  return held.embedding && held.head && held.layers.size() == 1 &&
         held.layers.front() == cluster::LayerRange{0, held.layer_count};
}

std::string_view WithoutEnding(std::string_view name) {
  constexpr std::string_view kEnding = ".gguf";
  if (name.ends_with(kEnding)) name.remove_suffix(kEnding.size());
  return name;
}

bool Holds(const node::NodeView& node, const Hash128& fingerprint) {
  return node.description &&
         std::ranges::any_of(node.description->models, [&](const cluster::HeldModel& held) {
           return held.fingerprint == fingerprint;
         });
}

Result<gguf::ModelFiles> FromCluster(const std::string& name, const ClusterOptions& cluster) {
  const auto view = TRY(ViewOfCluster(cluster.via).In(fmt::format("{} is no file here", name)));
  const std::vector<node::NodeView> nodes = TRY(view->Look());
  const cluster::HeldModel wanted = TRY(FindHeld(name, nodes));
  Error why(Code::kUnavailable, fmt::format("no node that has {} answers", name));
  for (const node::NodeView& node : nodes) {
    if (!Holds(node, wanted.fingerprint)) continue;
    const auto manifest = node::AskAnywhere(
        view->identity(), node.member,
        [&](rpc::ControlClient& client) { return client.FetchManifest(wanted.fingerprint); });
    auto files = manifest.ok() ? fetch::CheckManifest(*manifest, wanted.fingerprint)
                               : Result<gguf::ModelFiles>(manifest.error());
    if (files.ok()) return files;
    why = Error(files.error().code(), fmt::format("{} on {}: {}", name, Harmless(node.member.name),
                                                  files.error().message()));
  }
  return why;
}

}  // namespace

Result<cluster::HeldModel> FindHeld(std::string_view name, std::span<const node::NodeView> nodes) {
  const std::string wanted(
      WithoutEnding(name.substr(std::min(name.find_last_of('/') + 1, name.size()))));
  std::optional<cluster::HeldModel> found;
  std::set<std::string> names;
  for (const node::NodeView& node : nodes) {
    if (!node.description) continue;
    for (const cluster::HeldModel& held : node.description->models) {
      if (!IsWhole(held)) continue;
      names.insert(Harmless(held.name));
      if (held.name != wanted) continue;
      if (found && found->fingerprint != held.fingerprint) {
        return FailedPrecondition(fmt::format(
            "nodes of the cluster call different models {}: rename the files, or copy here the one "
            "that is meant",
            Harmless(wanted)));
      }
      found = held;
    }
  }
  if (found) return *std::move(found);
  return NotFound(fmt::format(
      "{} is no file here, and no node of the cluster has a whole model of that name: {}",
      Harmless(name),
      names.empty() ? "start one with its file, `aster node FILE`"
                    : fmt::format("there is {}", fmt::join(names, ", "))));
}

Result<gguf::ModelFiles> OpenModel(const std::vector<std::string>& paths,
                                   const ClusterOptions& cluster) {
  std::error_code ignored;
  if (cluster.cluster && paths.size() == 1 && !std::filesystem::exists(paths.front(), ignored)) {
    return FromCluster(paths.front(), cluster);
  }
  return gguf::ModelFiles::Open(paths);
}

}  // namespace aster::cli
