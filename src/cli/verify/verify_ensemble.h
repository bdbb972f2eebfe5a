// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// An ensemble's answers computed in every way, with every policy, and the single models that they
// must equal, for `aster verify --ensemble`. Must not know how a member is computed.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "cli/command.h"
#include "cli/options/ensemble_options.h"
#include "cli/terminal/console.h"
#include "open/cluster_options.h"
#include "open/model_options.h"

namespace aster::cli {

struct EnsembleToVerify {
  const open::ModelOptions* model;
  const open::ClusterOptions* cluster;
  const EnsembleFlags* ensemble;
  uint64_t tokens;  // of an answer, at most
  bool json;
};

// Prints a hash for each way.
Result<ExitStatus> VerifyEnsemble(const EnsembleToVerify& options, Console& console);

}  // namespace aster::cli
