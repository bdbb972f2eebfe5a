// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster plan --cluster: the predicted times of each kind of plan for a request on the present
// nodes, and why one is taken. Loads nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "cli/terminal/console.h"

namespace aster::cli {

struct ClusterPlanFlags {
  std::vector<std::string> models;
  std::vector<std::string> via;
  std::string kv_memory = "1GiB";
  uint32_t prompt_tokens = 512;
  std::string ids_path;  // replaces the prompt's length by the prompt itself
  uint32_t answer_tokens = 256;
  bool json = false;
};

Result<ExitStatus> ShowClusterPlan(ClusterPlanFlags flags, Console& console);

}  // namespace aster::cli
