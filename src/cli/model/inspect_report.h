// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What `aster inspect` has found out about a model, and how it tells people and scripts.
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
  std::optional<std::string> template_problem;  // why the chat template cannot be used, if so
  std::optional<std::string> fingerprint;       // where it was asked for
  std::optional<std::string> drafter_problem;   // of one given along, why it cannot draft, if so

  bool list_tensors = false;
  bool list_metadata = false;
};

void PrintReport(const InspectReport& report, Console& console);
nlohmann::ordered_json ReportToJson(const InspectReport& report);

}  // namespace aster::cli
