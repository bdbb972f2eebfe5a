// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What answers of an ensemble take, by every policy, beside what each member takes alone. Must not
// know how members come to an answer.
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
  std::vector<std::string> members;  // as they were given
  uint64_t most_tokens;              // of an answer; 0: no limit but the context's
  uint32_t repetitions;              // the median counts
  bool json;
};

Result<ExitStatus> BenchEnsemble(const EnsembleToBench& options, Console& console);

}  // namespace aster::cli
