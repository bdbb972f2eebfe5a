// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The options of commands that several models may answer together. Must not know how they do it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ensemble/answer.h"
#include "ensemble/ensemble.h"
#include "ensemble/open_members.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace aster::cli {

struct EnsembleFlags {
  std::vector<std::string> names;    // empty: no ensemble
  std::vector<std::string> weights;  // numbers, or files of results
  std::string policy = "choose";
  double wait_s = 60;

  bool is_wanted() const { return !names.empty(); }
  // With their weights as numbers.
  Result<ensemble::MemberOptions> Members() const;
  ensemble::EnsembleOptions ForEnsemble() const {
    return {.policy = ensemble::PolicyCalled(policy).value_or(ensemble::Policy::kChoose),
            .wait_ns = static_cast<int64_t>(wait_s * 1e9)};
  }
};

// The members. `flags` must outlive the parsing of the command line.
CLI::Option* DeclareEnsembleMembers(CLI::App& app, EnsembleFlags& flags);
// Also how they answer. `flags` must outlive the parsing of the command line. Returns the option
// that names the members.
CLI::Option* DeclareEnsembleOptions(CLI::App& app, EnsembleFlags& flags);

}  // namespace aster::cli
