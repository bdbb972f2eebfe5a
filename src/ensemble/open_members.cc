// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/open_members.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "ensemble/ensemble.h"
#include "model/files/support.h"
#include "open/builtin_models.h"
#include "open/load_tokenizer.h"
#include "open/model_files.h"
#include "open/model_identity.h"
#include "open/placed_model.h"

namespace aster::ensemble {

std::vector<std::string> Distinct(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (auto name = names.begin(); name != names.end(); ++name) {
    const auto before = std::count(names.begin(), name, *name);
    all.push_back(before == 0 ? *name : fmt::format("{} {}", *name, before + 1));
  }
  return all;
}

std::vector<std::string> DistinctNames(const std::vector<std::string>& paths) {
  std::vector<std::string> stems;
  for (const std::string& path : paths)
    stems.push_back(std::filesystem::path(path).stem().string());
  return Distinct(stems);
}

Result<std::unique_ptr<OpenMembers::Opened>> OpenMembers::OpenOne(const std::string& path,
                                                                  const MemberOptions& members,
                                                                  open::OpenOptions options,
                                                                  const Clock& clock,
                                                                  open::Reporter& reporter) {
  // First its files, and whether it can be asked at all.
  gguf::ModelFiles files = TRY(open::OpenModelFiles({path}, *options.cluster));
  const model::Shape shape = TRY(model::ShapeOf(files));
  auto one = std::make_unique<Opened>(Opened{.model = *options.model,
                                             .cluster = *options.cluster,
                                             .files = std::move(files),
                                             .shape = shape});
  one->model.paths = {path};
  one->tokenizer = TRY(open::LoadTokenizer(one->files, path, reporter));
  one->prompt = std::make_unique<chat::ChatPrompt>(
      TRY(chat::ChatPrompt::Make(one->files.metadata(), *one->tokenizer)));
  one->prompt->SetReasoningEffort(members.effort);
  if (!one->prompt->has_template()) {
    return FailedPrecondition(
        "this model has no chat template, which a member of an ensemble needs");
  }
  one->member.model = members.has_forms ? respond::ModelWithForms(*one->prompt, shape.vocab_size)
                                        : respond::ModelOf(*one->prompt);
  // Then its weights, which take time to load.
  options.model = &one->model;
  options.cluster = &one->cluster;
  one->opened = TRY(open::OpenModel(one->files, one->tokenizer.get(), clock, options, reporter));
  one->member.generator = &one->opened->generator();
  one->member.is_elsewhere = one->cluster.wants_nodes();
  return one;
}

Result<OpenMembers> OpenMembers::Open(const MemberOptions& members,
                                      const open::OpenOptions& options, const Clock& clock,
                                      open::Reporter& reporter) {
  if (!members.weights.empty() && members.weights.size() != members.names.size()) {
    return InvalidArgument(fmt::format("{} weights for {} members: give one for each, or none",
                                       members.weights.size(), members.names.size()));
  }
  std::vector<std::string> paths;
  std::vector<open::ClusterOptions> clusters;
  for (const std::string& name : members.names) {
    const auto placed = open::PlacedModel::Parse(name);
    paths.push_back(TRY(open::FindModel(placed.model)));
    clusters.push_back(TRY(open::OptionsAt(*options.cluster, placed.place).In(name)));
  }
  // Names and weights are checked before anything is loaded.
  std::vector<Member> checked(paths.size());
  const std::vector<std::string> names = DistinctNames(paths);
  for (size_t i = 0; i < checked.size(); ++i) {
    checked[i].name = names[i];
    if (!members.weights.empty()) checked[i].weight = members.weights[i];
  }
  TRY(CheckMembers(checked));
  if (!options.cluster->trace_path.empty() &&
      std::ranges::count_if(clusters, &open::ClusterOptions::wants_nodes) > 1)
    return InvalidArgument("--trace needs a single model on nodes: trace one member alone");
  OpenMembers all;
  for (size_t i = 0; i < paths.size(); ++i) {
    open::OpenOptions own = options;
    own.cluster = &clusters[i];
    all.opened_.push_back(TRY(OpenOne(paths[i], members, own, clock, reporter).In(paths[i])));
    all.opened_.back()->member.name = checked[i].name;
    all.opened_.back()->member.weight = checked[i].weight;
  }
  return all;
}

std::vector<Member> OpenMembers::members() const {
  std::vector<Member> members;
  for (const auto& one : opened_) members.push_back(one->member);
  return members;
}

uint32_t OpenMembers::context() const {
  return (*std::ranges::min_element(opened_, {},
                                    [](const auto& one) { return one->shape.context_length; }))
      ->shape.context_length;
}

uint32_t OpenMembers::smallest_vocab() const {
  return (*std::ranges::min_element(opened_, {},
                                    [](const auto& one) { return one->shape.vocab_size; }))
      ->shape.vocab_size;
}

Result<Hash128> OpenMembers::Fingerprint(open::Reporter& reporter) const {
  Hasher hasher;
  for (const auto& one : opened_) {
    const std::string hex = TRY(open::FingerprintOf(one->files, reporter)).ToHex();
    hasher.Add({reinterpret_cast<const uint8_t*>(hex.data()), hex.size()});
  }
  return hasher.Digest();
}

Status OpenMembers::Save() {
  for (const auto& one : opened_) TRY(one->opened->Save());
  return Ok();
}

}  // namespace aster::ensemble
