// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/serve/serve_ensembles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cli/options/member_weights.h"
#include "open/builtin_models.h"
#include "open/placed_model.h"
#include "serve/model_names.h"

namespace aster::cli {
namespace {

struct Named {
  std::string name;
  std::vector<std::string> values;
};

// NAME=VALUE,VALUE…
Result<Named> ReadNamed(const std::string& text, const char* form) {
  const size_t equals = text.find('=');
  Named named{.name = text.substr(0, equals), .values = {}};
  for (size_t begin = equals; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin + 1), text.size());
    named.values.push_back(text.substr(begin + 1, end - begin - 1));
    begin = end;
  }
  const bool is_whole = !named.name.empty() && !named.values.empty() &&
                        std::ranges::none_of(named.values, &std::string::empty);
  if (!is_whole) return InvalidArgument(fmt::format("give {}", form));
  return named;
}

Result<EnsembleSpec*> EnsembleCalled(const std::string& name, std::vector<EnsembleSpec>& all) {
  const auto found = std::ranges::find(all, name, &EnsembleSpec::name);
  if (found == all.end()) return InvalidArgument(fmt::format("there is no ensemble {}", name));
  return &*found;
}

Status ReadPolicy(const std::string& text, std::vector<EnsembleSpec>& all) {
  const std::string policies = fmt::format("{}", fmt::join(ensemble::PolicyNames(), ", "));
  const Named named = TRY(ReadNamed(text, "NAME=POLICY: the ensemble and how it answers"));
  EnsembleSpec* const found = TRY(EnsembleCalled(named.name, all));
  const auto policy = ensemble::PolicyCalled(named.values.front());
  if (!policy || named.values.size() > 1)
    return InvalidArgument(fmt::format("{}: no policy is called so; give one of {}",
                                       fmt::join(named.values, ","), policies));
  found->policy = *policy;
  return Ok();
}

Status ReadWeights(const std::string& text, std::vector<EnsembleSpec>& all) {
  const Named named = TRY(ReadNamed(text, "NAME=N,N…: the ensemble and a weight of each member"));
  EnsembleSpec* const found = TRY(EnsembleCalled(named.name, all));
  found->weights = TRY(ReadMemberWeights(named.values, found->members));
  return Ok();
}

// Whether the model that was given as `path` may be called `member`.
bool IsCalled(const std::string& path, const std::string& member) {
  return path == member || serve::PlainName(path) == serve::PlainName(member);
}

}  // namespace

Result<std::vector<EnsembleSpec>> ReadEnsembles(const std::vector<std::string>& ensembles,
                                                const std::vector<std::string>& weights,
                                                const std::vector<std::string>& policies) {
  std::vector<EnsembleSpec> all;
  for (const std::string& text : ensembles) {
    Named named = TRY(ReadNamed(text, "NAME=MODEL,MODEL…").In("--ensemble " + text));
    if (named.values.size() < 2) {
      return InvalidArgument(
          fmt::format("--ensemble {}: an ensemble needs two members at least", text));
    }
    all.push_back(
        {.name = std::move(named.name), .members = std::move(named.values), .weights = {}});
  }
  for (const std::string& text : weights) TRY(ReadWeights(text, all).In("--weights " + text));
  for (const std::string& text : policies) TRY(ReadPolicy(text, all).In("--policy " + text));
  return all;
}

std::vector<std::string> WithMembers(std::vector<std::string> paths,
                                     const std::vector<std::string>& names,
                                     const std::vector<EnsembleSpec>& ensembles) {
  for (const EnsembleSpec& ensemble : ensembles) {
    for (const std::string& member : ensemble.members) {
      const auto is_called = [&](const std::string& given) { return IsCalled(given, member); };
      if (std::ranges::none_of(paths, is_called) && std::ranges::none_of(names, is_called))
        paths.push_back(member);
    }
  }
  return paths;
}

Result<size_t> FindMember(const std::string& member, const std::vector<std::string>& names,
                          const std::vector<std::vector<std::string>>& paths) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (IsCalled(names[i], member)) return i;
  }
  for (size_t i = 0; i < paths.size(); ++i) {
    if (std::ranges::any_of(paths[i], [&](const auto& path) { return IsCalled(path, member); }))
      return i;
  }
  // A name that stands for a file.
  const std::string path = TRY(open::FindModel(member));
  for (size_t i = 0; i < paths.size(); ++i) {
    if (std::ranges::find(paths[i], path) != paths[i].end()) return i;
  }
  return InvalidArgument(fmt::format("{}: none of the models that are served", member));
}

std::vector<open::PlacedModel> TakePlaces(std::vector<std::string>& paths,
                                          std::vector<EnsembleSpec>& ensembles) {
  std::vector<open::PlacedModel> places;
  const auto take = [&](std::string& name) {
    open::PlacedModel placed = open::PlacedModel::Parse(name);
    name = placed.model;
    if (!placed.place.empty()) places.push_back(std::move(placed));
  };
  std::ranges::for_each(paths, take);
  for (EnsembleSpec& ensemble : ensembles) std::ranges::for_each(ensemble.members, take);
  return places;
}

Result<std::vector<open::ClusterOptions>> PlaceModels(
    const std::vector<open::PlacedModel>& places, const std::vector<std::string>& names,
    const std::vector<std::vector<std::string>>& paths, const open::ClusterOptions& all) {
  std::vector<open::ClusterOptions> of_each(names.size(), all);
  std::vector<std::string> taken(names.size());
  for (const open::PlacedModel& placed : places) {
    const size_t i = TRY(FindMember(placed.model, names, paths));
    if (!taken[i].empty() && taken[i] != placed.place) {
      return InvalidArgument(
          fmt::format("{} cannot be at {} and at {}: a server computes each model at one place",
                      names[i], taken[i], placed.place));
    }
    taken[i] = placed.place;
    of_each[i] = TRY(open::OptionsAt(all, placed.place).In(placed.model));
  }
  return of_each;
}

}  // namespace aster::cli
