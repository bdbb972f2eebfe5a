// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The options of commands that several models may answer together. Must not know how they do.
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
  std::vector<std::string> names;    // none: no ensemble
  std::vector<std::string> weights;  // numbers, or files of results
  std::string policy = "choose";
  double wait_s = 60;

  bool is_wanted() const { return !names.empty(); }
  // With what their weights come to.
  Result<ensemble::MemberOptions> Members() const;
  ensemble::EnsembleOptions ForEnsemble() const {
    return {.policy = ensemble::PolicyCalled(policy).value_or(ensemble::Policy::kChoose),
            .wait_ns = static_cast<int64_t>(wait_s * 1e9)};
  }
};

// Which models. What is declared outlives the parsing of the command line.
CLI::Option* DeclareEnsembleMembers(CLI::App& app, EnsembleFlags& flags);
// And how they answer. What is declared outlives the parsing of the command line. The option that
// names the members.
CLI::Option* DeclareEnsembleOptions(CLI::App& app, EnsembleFlags& flags);

}  // namespace aster::cli
