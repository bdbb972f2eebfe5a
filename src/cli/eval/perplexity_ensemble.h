// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How well several models together predict a text, byte by byte, compared with each of them. Must
// not know how they are mixed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "cli/options/ensemble_options.h"
#include "cli/terminal/console.h"
#include "open/cluster_options.h"
#include "open/model_options.h"

namespace aster::cli {

struct EnsembleText {
  const open::ModelOptions* model;
  const open::ClusterOptions* cluster;
  const EnsembleFlags* ensemble;
  std::string path;
  uint32_t chunk_bytes;  // the second half is scored
  uint64_t max_chunks;   // 0: all
  bool json;
};

Result<ExitStatus> RateTextTogether(const EnsembleText& options, Console& console);

}  // namespace aster::cli
