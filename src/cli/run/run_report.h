// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The report of `aster run` about a finished answer, for users and for scripts. Must not know how
// it was made.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "disk/disk_pages.h"
#include "engine/request.h"
#include "open/open_model.h"
#include "respond/run.h"

namespace aster::cli {

struct RunReport {
  std::string model;  // the path, as given
  uint64_t seed = 0;
  int64_t load_ns = 0;
  const respond::Answered* answered = nullptr;
  std::optional<disk::DiskPagesCounts> kv_cache = {};
  std::vector<open::RowsFromNode> fetched = {};
  open::KvTransfers kv_transfers = {};
  std::vector<open::HopFigures> hops = {};               // of the route at the end
  std::vector<conduct::RequestForecast> forecasts = {};  // on nodes
  std::vector<plan::Alternative> alternatives = {};      // if they are to be reported
  std::vector<std::string> reasons = {};                 // why the plan is as it is
  std::vector<open::AbsentNode> left_out = {};           // and which nodes could not be used
  std::string inexact = {};                              // OpenedModel::inexact
};

nlohmann::ordered_json DraftsToJson(const engine::DraftCounts& counts);
// A call: id, name, arguments (an object; if invalid, the text).
nlohmann::ordered_json CallToJson(const respond::Call& call);
// A kind of plan: its predicted times, and why it is not taken.
nlohmann::ordered_json AlternativeToJson(const plan::Alternative& of);
// Nodes without layers, and why.
nlohmann::ordered_json LeftOutToJson(const std::vector<open::AbsentNode>& nodes);
// One line; invalid UTF-8 becomes U+FFFD.
std::string DumpLine(const nlohmann::ordered_json& json);
nlohmann::ordered_json RunToJson(const RunReport& report);
// The offered tools, a line each.
std::string DescribeTools(const nlohmann::ordered_json& tools);

// "prompt 12 tokens, 345 tokens/s; answer 34 tokens, 20.1 tokens/s", without parts that did not
// happen.
std::string DescribeRates(const engine::RequestCounts& counts, const engine::RequestTimes& times,
                          uint64_t answers = 1);

}  // namespace aster::cli
