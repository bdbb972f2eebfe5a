// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What `aster bench` has measured: for people, for scripts, and held against an earlier report.
// Must not know how anything is measured.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/terminal/console.h"
#include "engine/measure.h"
#include "open/node_pool.h"

namespace aster::cli {

// The matrices of one type in the files, and what multiplies with them.
struct BenchWeights {
  std::string type;
  uint64_t file_bytes = 0;
  std::string kernel;       // the type as which they are packed
  std::string activations;  // what these are rounded to
};

struct BenchReport {
  std::string model;  // the path, as given
  std::string model_name;
  std::string architecture;
  std::string isa;
  std::vector<BenchWeights> weights = {};
  std::string kv_type;
  uint64_t file_bytes = 0;
  uint64_t packed_bytes = 0;
  size_t load_threads = 0;
  int64_t load_ns = 0;
  uint64_t load_peak_bytes = 0;  // of the whole process, when the model was loaded
  uint64_t peak_bytes = 0;       // at the end, with sequences and what limits are measured with
  uint32_t repetitions = 0;
  uint32_t chunk = 0;
  std::string split = {};                       // of nodes; empty: on this machine alone
  std::string inexact = {};                     // NodeSession::Inexact
  std::vector<std::string> reasons = {};        // why the plan is as it is
  std::vector<open::AbsentNode> left_out = {};  // nodes that it could not have
  engine::MeasureReport measured;
};

nlohmann::ordered_json BenchToJson(const BenchReport& report);
void PrintBench(const BenchReport& report, Console& console);

// One rate of a report, as far as another report can be held against it.
struct BenchRate {
  engine::MeasuredCase what;
  double tokens_per_s = 0;
};
std::vector<BenchRate> RatesOf(const BenchReport& report);
// Of a text that --json wrote. Other JSON is an error that says what is missing.
Result<std::vector<BenchRate>> ParseRates(std::string_view text);
// The same, of a file.
Result<std::vector<BenchRate>> ReadRates(const std::string& path);

// The cases that both have: rates and their ratio, second over first.
struct BenchRatio {
  engine::MeasuredCase what;
  double first = 0;
  double second = 0;
  double ratio() const { return first == 0 ? 0 : second / first; }
};
// An error where there is no such case.
Result<std::vector<BenchRatio>> CompareRates(const std::vector<BenchRate>& first,
                                             const std::vector<BenchRate>& second);
nlohmann::ordered_json RatiosToJson(const std::vector<BenchRatio>& ratios);
void PrintRatios(const std::vector<BenchRatio>& ratios, Console& console);

}  // namespace aster::cli
