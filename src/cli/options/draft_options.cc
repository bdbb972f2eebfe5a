// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/options/draft_options.h"

#include <CLI/CLI.hpp>

#include "engine/request.h"

namespace aster::cli {

void DeclareDraftOptions(CLI::App& app, open::DraftOptions& options) {
  constexpr const char* kGroup = "Guessing ahead";
  app.add_option("--draft", options.draft,
                 "Who guesses ahead: mtp (the model's own block), ngram (the text so far), or a "
                 "smaller model of the same vocabulary. Changes no answer")
      ->group(kGroup)
      ->type_name("WHO");
  app.add_option("--draft-max", options.most, "The most guesses that are checked at once")
      ->group(kGroup)
      ->check(CLI::Range(1u, engine::kMostDrafts))
      ->type_name("N");
}

}  // namespace aster::cli
