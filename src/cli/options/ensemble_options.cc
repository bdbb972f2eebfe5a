// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/options/ensemble_options.h"

#include <CLI/CLI.hpp>

#include "cli/options/member_weights.h"

namespace aster::cli {

namespace {

constexpr const char* kGroup = "Ensemble";

}  // namespace

Result<ensemble::MemberOptions> EnsembleFlags::Members() const {
  ensemble::MemberOptions members{.names = names};
  members.weights = TRY(ReadMemberWeights(weights, names));
  return members;
}

CLI::Option* DeclareEnsembleMembers(CLI::App& app, EnsembleFlags& flags) {
  return app
      .add_option("--ensemble", flags.names,
                  "Models that answer together. MODEL@NODE: on that node of the cluster")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("MODEL,MODEL…")
      ->group(kGroup);
}

CLI::Option* DeclareEnsembleOptions(CLI::App& app, EnsembleFlags& flags) {
  CLI::Option* members = DeclareEnsembleMembers(app, flags);
  app.add_option("--policy", flags.policy,
                 "How they give one answer: choose takes the most probable of their answers, "
                 "spans writes one together sentence by sentence, bytes byte by byte, auto the "
                 "best of them for the kind of question (default: choose)")
      ->check(CLI::IsMember(ensemble::PolicyNames()))
      ->type_name("NAME")
      ->needs(members)
      ->group(kGroup);
  app.add_option("--weights", flags.weights,
                 "Weight of each member's probabilities (default: all the same); 0: not asked. Or "
                 "the file of results of each member (aster eval --out), which gives its weight")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("N,N…")
      ->needs(members)
      ->group(kGroup);
  app.add_option("--ensemble-wait", flags.wait_s,
                 "Seconds to wait for other members after the first has answered")
      ->check(CLI::Range(0.0, 86400.0))
      ->type_name("SECONDS")
      ->needs(members)
      ->group(kGroup);
  return members;
}

}  // namespace aster::cli
