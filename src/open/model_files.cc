// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/model_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "base/machine.h"
#include "base/similar.h"
#include "base/thread_pool.h"
#include "base/utf8.h"
#include "fetch/manifest.h"
#include "fetch/parts.h"
#include "gguf/fingerprint.h"
#include "node/call_member.h"
#include "open/builtin_models.h"
#include "open/node_pool.h"
#include "open/reporter.h"
#include "pull/library.h"

namespace aster::open {
namespace {

std::string_view WithoutEnding(std::string_view name) {
  constexpr std::string_view kEnding = ".gguf";
  if (name.ends_with(kEnding)) name.remove_suffix(kEnding.size());
  return name;
}

// "high (layers 3-5 of 6), low (layers 0-2 of 6)": all models of the nodes; empty if they have
// none.
std::string NamesOf(std::span<const node::NodeView> nodes) {
  std::set<std::string> names;
  for (const node::NodeView& node : nodes) {
    if (!node.description) continue;
    for (const cluster::HeldModel& held : node.description->models) {
      names.insert(fmt::format("{} ({})", ForDisplay(held.name), fetch::LayersText(held)));
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

bool Holds(const node::NodeView& node, const Hash128& fingerprint) {
  return node.description &&
         std::ranges::any_of(node.description->models, [&](const cluster::HeldModel& held) {
           return held.fingerprint == fingerprint;
         });
}

// The manifest from any node that has it.
Result<rpc::ModelManifest> ManifestFrom(const node::ClusterView& view,
                                        std::span<const node::NodeView> nodes,
                                        const std::string& name) {
  const cluster::HeldModel wanted = TRY(FindHeld(name, nodes));
  Error why(Code::kUnavailable, fmt::format("no node that has {} answers", name));
  for (const node::NodeView& node : nodes) {
    if (!Holds(node, wanted.fingerprint)) continue;
    const auto ask = [&](rpc::ControlClient& client) -> Result<rpc::ModelManifest> {
      rpc::ModelManifest manifest = TRY(client.FetchManifest(wanted.fingerprint));
      TRY(fetch::CheckManifest(manifest, wanted.fingerprint));
      return manifest;
    };
    auto manifest = node::CallMember(view.identity(), node.member, ask);
    if (manifest.ok()) return manifest;
    const Error& error = manifest.error();
    why = Error(error.code(),
                fmt::format("{} on {}: {}", name, ForDisplay(node.member.name), error.message()));
  }
  return why;
}

Result<rpc::ModelManifest> ManifestHere(const std::vector<std::string>& paths) {
  const auto files = TRY(gguf::ModelFiles::Open(paths));
  ThreadPool pool(UsableCpuCount());
  return fetch::MakeManifest(files, TRY(gguf::FingerprintModel(files, pool)));
}

// Files that are named together belong to one model, here or on nodes.
Result<gguf::ModelFiles> FromCluster(const std::vector<std::string>& here,
                                     const std::vector<std::string>& names,
                                     const ClusterOptions& cluster) {
  const auto view =
      TRY(ViewOfCluster(cluster.via).In(fmt::format("{} is no file here", names.front())));
  const std::vector<node::NodeView> nodes = TRY(view->Look());
  std::vector<rpc::ModelManifest> parts;
  parts.reserve(names.size() + 1);
  for (const std::string& name : names) parts.push_back(TRY(ManifestFrom(*view, nodes, name)));
  if (!here.empty()) parts.push_back(TRY(ManifestHere(here)));
  std::vector<const rpc::ModelManifest*> all;
  all.reserve(parts.size());
  for (const rpc::ModelManifest& part : parts) all.push_back(&part);
  const rpc::ModelManifest joined = TRY(fetch::JoinManifests(all));
  return fetch::CheckManifest(joined, joined.fingerprint);
}

}  // namespace

Result<cluster::HeldModel> FindHeld(std::string_view name, std::span<const node::NodeView> nodes) {
  const std::string wanted(
      WithoutEnding(name.substr(std::min(name.find_last_of('/') + 1, name.size()))));
  std::optional<cluster::HeldModel> found;
  for (const node::NodeView& node : nodes) {
    if (!node.description) continue;
    for (const cluster::HeldModel& held : node.description->models) {
      if (held.name != wanted || (found && found->is_whole() && !held.is_whole())) continue;
      const bool is_better = found && held.is_whole() && !found->is_whole();
      if (found && !is_better && found->fingerprint != held.fingerprint) {
        return FailedPrecondition(
            fmt::format("nodes of the cluster have different models called {}: rename the files, "
                        "or copy the right one here",
                        ForDisplay(wanted)));
      }
      found = held;
    }
  }
  if (found) return *std::move(found);
  const std::string names = NamesOf(nodes);
  return NotFound(
      fmt::format("{} is no file here, and no node of the cluster has a model of that name: {}",
                  ForDisplay(name),
                  names.empty() ? "start one with its file, `aster node FILE`"
                                : fmt::format("there is {}", names)));
}

Status CheckWhole(const gguf::ModelFiles& files, const ClusterOptions& cluster) {
  const auto missing = files.MissingParts();
  if (!cluster.cluster || !missing.ok() || missing->empty()) return Ok();
  const auto view = TRY(ViewOfCluster(cluster.via));
  const std::string names = NamesOf(TRY(view->Look()));
  return FailedPrecondition(fmt::format(
      "{}: no file that was named has {}; name all files of the model, by their paths here or as "
      "nodes call them, which have {}",
      ForDisplay(files.files().front().path()), fmt::join(*missing, ", "),
      names.empty() ? "none" : names));
}

namespace {

// "; did you mean nova?" for the first path that is no file; empty if no model's name is similar.
std::string SimilarModel(const std::vector<std::string>& paths) {
  std::vector<std::string> names(BuiltinModels().begin(), BuiltinModels().end());
  if (const auto folder = pull::LibraryFolder(); folder.ok()) {
    for (const pull::LibraryModel& model : pull::ListLibrary(*folder)) names.push_back(model.name);
  }
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) continue;
    const auto meant = MostSimilar(path, names);
    return meant ? fmt::format("; did you mean {}?", *meant) : "";
  }
  return "";
}

}  // namespace

Result<gguf::ModelFiles> OpenModelFiles(const std::vector<std::string>& paths,
                                        const ClusterOptions& cluster) {
  std::vector<std::string> here, names;
  for (const std::string& path : paths) {
    std::error_code ignored;
    const bool is_name = cluster.cluster && !std::filesystem::exists(path, ignored);
    (is_name ? names : here).push_back(path);
  }
  if (!names.empty()) return FromCluster(here, names, cluster);
  auto files = gguf::ModelFiles::Open(paths);
  if (files.ok() || files.error().code() != Code::kNotFound) return files;
  return NotFound(fmt::format(
      "{}{}; `aster list` shows the models of this machine, `aster pull hf:ORG/REPO` downloads one",
      files.error().message(), SimilarModel(paths)));
}

}  // namespace aster::open
