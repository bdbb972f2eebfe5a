// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/options/ensemble_options.h"

#include <CLI/CLI.hpp>

namespace aster::cli {

CLI::Option* DeclareEnsembleOptions(CLI::App& app, EnsembleFlags& flags) {
  constexpr const char* kGroup = "Ensemble";
  CLI::Option* names =
      app.add_option("--ensemble", flags.members.names,
                     "Models that answer together: of their answers, the one that they hold for "
                     "the most probable is taken. MODEL@NODE: on that node of the cluster")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("MODEL,MODEL…")
          ->group(kGroup);
  app.add_option("--weights", flags.members.weights,
                 "Weight of each member's probabilities (default: all the same); 0: not asked")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("N,N…")
      ->needs(names)
      ->group(kGroup);
  app.add_option("--ensemble-wait", flags.wait_s,
                 "Time limit of a member behind the first that has answered, in seconds")
      ->check(CLI::Range(0.0, 86400.0))
      ->type_name("SECONDS")
      ->needs(names)
      ->group(kGroup);
  return names;
}

}  // namespace aster::cli
