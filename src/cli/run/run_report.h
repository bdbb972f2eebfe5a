// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What `aster run` says about an answer when it is finished, to people and to scripts. Must not
// know how it was made.
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
  std::vector<open::HopFigures> hops = {};               // of the route as it is at the end
  std::vector<conduct::RequestForecast> forecasts = {};  // on nodes
  std::vector<plan::Alternative> alternatives = {};      // where they are to be told
  std::vector<std::string> reasons = {};                 // why the plan is as it is
  std::vector<open::AbsentNode> left_out = {};           // and which nodes it could not have
  std::string inexact = {};                              // OpenedModel::inexact
};

nlohmann::ordered_json DraftsToJson(const engine::DraftCounts& counts);
// Of a call: id, name, arguments (an object, or the text that is none).
nlohmann::ordered_json CallToJson(const respond::Call& call);
// A kind of plan: what it would take, and why it is not taken.
nlohmann::ordered_json AlternativeToJson(const plan::Alternative& of);
// Nodes that got no layers, and why.
nlohmann::ordered_json LeftOutToJson(const std::vector<open::AbsentNode>& nodes);
// One line; bytes that are no characters become U+FFFD.
std::string DumpLine(const nlohmann::ordered_json& json);
nlohmann::ordered_json RunToJson(const RunReport& report);
// Tools that are offered, a line for each.
std::string DescribeTools(const nlohmann::ordered_json& tools);

// "prompt 12 tokens, 345 tokens/s; answer 34 tokens, 20.1 tokens/s": nothing of what did not
// happen.
std::string DescribeRates(const engine::RequestCounts& counts, const engine::RequestTimes& times,
                          uint64_t answers = 1);

}  // namespace aster::cli
