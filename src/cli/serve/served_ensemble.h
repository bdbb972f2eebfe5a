// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Served models that answer together under a name of their own. Must not know how a model is
// loaded, nor HTTP.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cli/serve/serve_ensembles.h"
#include "ensemble/ensemble.h"
#include "serve/ensemble_loop.h"
#include "serve/loop_engine.h"
#include "serve/metrics.h"
#include "serve/service.h"

namespace aster::cli {

class ServedEnsemble {
 public:
  ServedEnsemble() = default;  // empty; use Make
  // Members are models of the server, whose loops outlive it, as does the clock.
  static Result<std::unique_ptr<ServedEnsemble>> Make(
      const EnsembleSpec& spec, const std::vector<const serve::ServedModel*>& members,
      const ensemble::EnsembleOptions& options, size_t most_questions, Clock& clock);

  // As clients see it: properties of a single model are the first member's.
  serve::ServedModel Model(std::vector<std::string> aliases);
  serve::EnsembleLoop& loop() { return *loop_; }

 private:
  serve::ServedModel model_;
  serve::Metrics metrics_;
  std::vector<std::unique_ptr<serve::LoopEngine>> engines_;  // of its members
  std::unique_ptr<ensemble::Ensemble> ensemble_;
  std::unique_ptr<serve::EnsembleLoop> loop_;
};

}  // namespace aster::cli
