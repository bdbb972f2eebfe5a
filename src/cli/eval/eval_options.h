// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The options of `aster eval`. Must not know how questions are asked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options/ensemble_options.h"
#include "cli/options/sampling_options.h"
#include "eval/questions.h"
#include "open/cluster_options.h"
#include "open/drafts.h"
#include "open/model_options.h"

namespace aster::cli {

struct EvalOptions {
  open::ModelOptions model;  // every path is a model of its own
  open::ClusterOptions cluster;
  open::DraftOptions draft;
  EnsembleFlags ensemble;
  std::string questions_path;
  eval::Selection selection;
  std::vector<std::string> out_paths;  // empty, or one for each model
  uint32_t parallel = 8;
  uint64_t max_tokens = 300;
  uint32_t context = 0;  // 0: the model's training context
  SamplingFlags sampling;
  std::vector<std::string> compare;  // two files of results
  bool verbose = false;
  bool json = false;

  void Declare(CLI::App& app);
};

}  // namespace aster::cli
