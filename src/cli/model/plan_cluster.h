// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster plan --cluster: what each kind of plan would take of a request on the nodes that are there,
// and why one is taken. Nothing is loaded.
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
  std::string ids_path;  // the prompt itself, in place of its length
  uint32_t answer_tokens = 256;
  bool json = false;
};

Result<ExitStatus> ShowClusterPlan(ClusterPlanFlags flags, Console& console);

}  // namespace aster::cli
