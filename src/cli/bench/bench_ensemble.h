// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The time of an ensemble's answers, with every policy and with each member alone. Must not know
// how members make an answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "cli/terminal/console.h"
#include "open/cluster_options.h"
#include "open/model_options.h"

namespace aster::cli {

struct EnsembleToBench {
  const open::ModelOptions* model;
  const open::ClusterOptions* cluster;
  std::vector<std::string> members;  // as given
  uint64_t most_tokens;              // per answer; 0: only the context's limit
  uint32_t repetitions;              // the median counts
  bool json;
};

Result<ExitStatus> BenchEnsemble(const EnsembleToBench& options, Console& console);

}  // namespace aster::cli
