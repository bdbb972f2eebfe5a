// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/serve/serve_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "gguf/split_name.h"
#include "model/files/block_shape.h"
#include "open/builtin_models.h"
#include "open/model_files.h"
#include "plan/planner.h"

namespace aster::cli {
namespace {

// The number of tokens for which memory is compared.
constexpr uint32_t kComparedTokens = 4096;

struct Candidate {
  ModelGroup group;
  bool is_whole = false;
};

// A file may lack the number of layers if others have it.
bool IsWhole(const gguf::ModelFiles& files) {
  if (model::HoldsBlockDrafter(files.metadata())) return false;
  const auto missing = files.MissingParts();
  return missing.ok() && missing->empty();
}

// Whether the first of these files belongs to the group.
bool HoldsFirst(const ModelGroup& group, const gguf::ModelFiles& files) {
  if (files.fingerprint() || group.files.fingerprint()) {
    return files.fingerprint() == group.files.fingerprint();
  }
  return std::ranges::any_of(group.files.files(), [&](const gguf::File& one) {
    return one.mapped().identity() == files.files().front().mapped().identity();
  });
}

std::optional<std::string> NameIn(const gguf::ModelFiles& files) {
  const auto name = files.metadata().Get<std::string>("general.name");
  if (!name.ok()) return std::nullopt;
  return *name;
}

bool AreOfOneModel(const gguf::ModelFiles& a, const gguf::ModelFiles& b) {
  if (model::HoldsBlockDrafter(b.metadata())) return open::CheckBlockDrafter(b, a).ok();
  if (model::HoldsBlockDrafter(a.metadata())) return open::CheckBlockDrafter(a, b).ok();
  const auto a_name = NameIn(a);
  const auto b_name = NameIn(b);
  return !a_name || !b_name || *a_name == *b_name;
}

// Both as one model, if they belong to one.
std::optional<ModelGroup> Joined(const ModelGroup& a, const ModelGroup& b) {
  if (!AreOfOneModel(a.files, b.files)) return std::nullopt;
  std::vector<std::string> paths = a.paths;
  paths.insert(paths.end(), b.paths.begin(), b.paths.end());
  auto files = gguf::ModelFiles::Open(paths);
  if (!files.ok()) return std::nullopt;
  return ModelGroup{.paths = std::move(paths), .files = *std::move(files)};
}

// Joins the piece with the only candidate that it fits; false if it fits none.
Result<bool> JoinOne(std::vector<Candidate>& candidates, const ModelGroup& piece, bool whole_ones) {
  Candidate* fitting = nullptr;
  std::optional<ModelGroup> joined;
  for (Candidate& candidate : candidates) {
    if (candidate.is_whole != whole_ones) continue;
    auto together = Joined(candidate.group, piece);
    if (!together) continue;
    if (fitting != nullptr) {
      return FailedPrecondition(fmt::format(
          "{}: its layers could be of {} as well as of {}; serve these two one at a "
          "time, or make each a whole file",
          piece.paths.front(), fitting->group.paths.front(), candidate.group.paths.front()));
    }
    fitting = &candidate;
    joined = std::move(together);
  }
  if (fitting == nullptr) return false;
  fitting->group = *std::move(joined);
  // A complete model stays complete.
  return true;
}

Result<std::vector<Candidate>> JoinPieces(const std::vector<std::string>& paths,
                                          const open::ClusterOptions& cluster) {
  std::vector<Candidate> candidates;
  for (const std::string& path : paths) {
    gguf::ModelFiles files = TRY(open::OpenModelFiles({path}, cluster));
    const bool is_known = std::ranges::any_of(
        candidates, [&](const Candidate& candidate) { return HoldsFirst(candidate.group, files); });
    if (is_known) continue;
    const bool is_whole = IsWhole(files);
    ModelGroup group{.paths = {path}, .files = std::move(files)};
    if (!is_whole && TRY(JoinOne(candidates, group, /*whole_ones=*/false))) continue;
    candidates.push_back({.group = std::move(group), .is_whole = is_whole});
  }
  return candidates;
}

}  // namespace

Result<std::vector<ModelGroup>> GroupModels(const std::vector<std::string>& paths,
                                            const open::ClusterOptions& cluster) {
  std::vector<Candidate> candidates = TRY(JoinPieces(paths, cluster));
  std::vector<ModelGroup> groups;
  if (candidates.size() == 1) {
    // Only its operator knows whether that is enough.
    groups.push_back(std::move(candidates.front().group));
    return groups;
  }
  std::vector<ModelGroup> pieces;
  std::vector<Candidate> whole;
  for (Candidate& candidate : candidates) {
    if (candidate.is_whole || IsWhole(candidate.group.files)) {
      whole.push_back({.group = std::move(candidate.group), .is_whole = true});
    } else {
      pieces.push_back(std::move(candidate.group));
    }
  }
  // A remaining piece may extend a complete model, for example with an MTP block.
  for (const ModelGroup& piece : pieces) {
    if (TRY(JoinOne(whole, piece, /*whole_ones=*/true))) continue;
    const auto missing = piece.files.MissingParts();
    return FailedPrecondition(fmt::format(
        "{}: neither a whole model nor a part of another one that is given{}", piece.paths.front(),
        missing.ok() && !missing->empty() ? fmt::format(" ({} is missing)", missing->front())
                                          : ""));
  }
  for (Candidate& candidate : whole) groups.push_back(std::move(candidate.group));
  return groups;
}

Result<std::vector<std::string>> NameModels(const std::vector<ModelGroup>& groups,
                                            const std::vector<std::string>& names) {
  if (names.size() > groups.size()) {
    return InvalidArgument(fmt::format("--name is given {} times, and there {} {} model{}",
                                       names.size(), groups.size() == 1 ? "is" : "are",
                                       groups.size(), groups.size() == 1 ? "" : "s"));
  }
  std::vector<std::string> all = names;
  for (size_t i = names.size(); i < groups.size(); ++i) {
    const std::string& path = groups[i].paths.front();
    const auto split = gguf::ParseSplitPath(path);
    all.push_back(split ? std::filesystem::path(split->prefix).filename().string()
                        : std::filesystem::path(path).stem().string());
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (std::find(all.begin(), all.begin() + static_cast<ptrdiff_t>(i), all[i]) ==
        all.begin() + static_cast<ptrdiff_t>(i)) {
      continue;
    }
    return InvalidArgument(fmt::format(
        "two models have the name {}: give each a --name, in the order of the models", all[i]));
  }
  return all;
}

Result<std::vector<std::vector<std::string>>> AliasModels(const std::vector<std::string>& names,
                                                          const std::vector<std::string>& aliases) {
  std::vector<std::vector<std::string>> all(names.size());
  for (const std::string& alias : aliases) {
    const size_t at = alias.rfind('=');
    if (at == std::string::npos) {
      all.front().push_back(alias);
      continue;
    }
    const auto named = std::ranges::find(names, alias.substr(at + 1));
    if (named == names.end()) {
      return InvalidArgument(
          fmt::format("--alias {}: there is no model {}", alias, alias.substr(at + 1)));
    }
    all[static_cast<size_t>(named - names.begin())].push_back(alias.substr(0, at));
  }
  // If two models had the same name, the second one could not be reached.
  std::map<std::string, size_t> owners;
  for (size_t i = 0; i < names.size(); ++i) owners[names[i]] = i;
  for (size_t i = 0; i < all.size(); ++i) {
    for (const std::string& alias : all[i]) {
      const auto [owner, is_new] = owners.emplace(alias, i);
      if (!is_new && owner->second != i) {
        return InvalidArgument(fmt::format("--alias {}={}: {} is called so already", alias,
                                           names[i], names[owner->second]));
      }
    }
  }
  return all;
}

Result<std::vector<bool>> ModelsWithDrafts(const std::vector<ModelGroup>& groups,
                                           const open::DraftOptions& draft) {
  std::vector<bool> all(groups.size(), false);
  if (!draft.wanted()) return all;
  std::optional<gguf::ModelFiles> drafter;
  if (draft.ForEngine().kind == engine::DraftKind::kModel && !draft.NodeToAsk() &&
      groups.size() > 1)
    drafter = TRY(gguf::ModelFiles::Open(TRY(open::FindModel(draft.draft).In("--draft"))));
  Status first;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (drafter && HoldsFirst(groups[i], *drafter)) continue;
    Status can = draft.CheckFor(groups[i].files);
    all[i] = can.ok();
    if (!can.ok() && first.ok()) first = std::move(can).error().In(groups[i].paths.front());
  }
  if (std::ranges::count(all, true) == 0) {
    if (!first.ok()) return first.error();
    return InvalidArgument(
        fmt::format("--draft {}: a model cannot be its own draft model", draft.draft));
  }
  return all;
}

Result<std::vector<uint64_t>> ShareMemory(const std::vector<ModelGroup>& groups,
                                          const model::MemoryOptions& memory, uint64_t bytes) {
  std::vector<double> needs;
  double total = 0;
  for (const ModelGroup& group : groups) {
    const plan::ModelLoad load =
        TRY(plan::LoadOf(group.files, memory, kComparedTokens, kComparedTokens)
                .In(group.paths.front()));
    needs.push_back(static_cast<double>(load.kv_bytes_per_layer) *
                    static_cast<double>(load.layers.size()));
    total += needs.back();
  }
  std::vector<uint64_t> shares;
  for (const double need : needs) {
    const double part = total > 0 ? need / total : 1.0 / static_cast<double>(needs.size());
    shares.push_back(static_cast<uint64_t>(static_cast<double>(bytes) * part));
  }
  return shares;
}

}  // namespace aster::cli
