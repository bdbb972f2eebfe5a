// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The results of `aster inspect`, for users and scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cli/terminal/console.h"
#include "gguf/model_files.h"
#include "model/files/description.h"
#include "model/files/support.h"

namespace aster::cli {

struct InspectReport {
  const gguf::ModelFiles* files = nullptr;
  model::Description description;
  model::Support support;
  std::vector<std::string> missing_parts;       // "layers 31-60"
  std::optional<std::string> template_problem;  // why the chat template cannot be used
  std::optional<std::string> fingerprint;       // if requested
  std::optional<std::string> drafter_problem;   // why a given drafter cannot draft

  bool list_tensors = false;
  bool list_metadata = false;
};

void PrintReport(const InspectReport& report, Console& console);
nlohmann::ordered_json ReportToJson(const InspectReport& report);

}  // namespace aster::cli
