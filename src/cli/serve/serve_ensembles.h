// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The ensembles of one server: their names, members and weights; and where models are computed.
// Must not know how they answer.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ensemble/answer.h"
#include "open/cluster_options.h"
#include "open/placed_model.h"

namespace aster::cli {

struct EnsembleSpec {
  std::string name;
  std::vector<std::string> members;  // as written
  std::vector<double> weights;       // one each; empty: all the same
  ensemble::Policy policy = ensemble::Policy::kChoose;
};

// From NAME=MODEL,MODEL…, NAME=N,N… and NAME=POLICY.
Result<std::vector<EnsembleSpec>> ReadEnsembles(const std::vector<std::string>& ensembles,
                                                const std::vector<std::string>& weights,
                                                const std::vector<std::string>& policies);

// The models to serve: the given ones, by `paths` and `names`, and members that are none of these.
std::vector<std::string> WithMembers(std::vector<std::string> paths,
                                     const std::vector<std::string>& names,
                                     const std::vector<EnsembleSpec>& ensembles);

// The index of the member's model: by its name, or by one of `paths`.
Result<size_t> FindMember(const std::string& member, const std::vector<std::string>& names,
                          const std::vector<std::vector<std::string>>& paths);

// Removes the places from the names of models and members ("nova@laptop" becomes nova); returns
// those with one.
std::vector<open::PlacedModel> TakePlaces(std::vector<std::string>& paths,
                                          std::vector<EnsembleSpec>& ensembles);

// Where each of the models with these names and paths is computed; each at one place only.
Result<std::vector<open::ClusterOptions>> PlaceModels(
    const std::vector<open::PlacedModel>& places, const std::vector<std::string>& names,
    const std::vector<std::vector<std::string>>& paths, const open::ClusterOptions& all);

}  // namespace aster::cli
