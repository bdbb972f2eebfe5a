// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/options/draft_options.h"

#include <CLI/CLI.hpp>

#include "engine/request.h"

namespace aster::cli {

void DeclareDraftOptions(CLI::App& app, open::DraftOptions& options) {
  constexpr const char* kGroup = "Speculative decoding";
  app.add_option(
         "--draft", options.draft,
         "Drafter of speculative decoding: mtp (the model's own block, or a drafter of blocks "
         "given "
         "along with the model), ngram (n-gram lookup in the text), a smaller model of the same "
         "vocabulary or a drafter of blocks (DFlash, DSpark), node:NAME (drafters of a node of the "
         "cluster), or auto (all drafters of the cluster, and ngram). Changes no answer")
      ->group(kGroup)
      ->type_name("DRAFTER");
  app.add_option("--draft-max", options.most, "Draft tokens checked in one step, at most")
      ->group(kGroup)
      ->check(CLI::Range(1u, engine::kMostDrafts))
      ->type_name("N");
}

}  // namespace aster::cli
