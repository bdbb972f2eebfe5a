// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The results of `aster bench`: for users, for scripts, and compared with an earlier report. Must
// not know how anything is measured.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/terminal/console.h"
#include "engine/measure.h"
#include "open/node_pool.h"

namespace aster::cli {

// The matrices of one type in the files, and the kernel for them.
struct BenchWeights {
  std::string type;
  uint64_t file_bytes = 0;
  std::string kernel;       // the type in which they are packed
  std::string activations;  // the type to which these are rounded
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
  uint64_t load_peak_bytes = 0;  // of the whole process, after loading the model
  uint64_t peak_bytes = 0;       // at the end, with sequences and the measurement of limits
  uint32_t repetitions = 0;
  uint32_t chunk = 0;
  std::string split = {};                       // for nodes; empty: this machine alone
  std::string inexact = {};                     // NodeSession::Inexact
  std::vector<std::string> reasons = {};        // why the plan is as it is
  std::vector<open::AbsentNode> left_out = {};  // nodes that could not be used
  engine::MeasureReport measured;
};

nlohmann::ordered_json BenchToJson(const BenchReport& report);
void PrintBench(const BenchReport& report, Console& console);

// One rate of a report, for comparison with another report.
struct BenchRate {
  engine::MeasuredCase what;
  double tokens_per_s = 0;
};
std::vector<BenchRate> RatesOf(const BenchReport& report);
// Parses the text of --json. Other JSON is an error that names the missing part.
Result<std::vector<BenchRate>> ParseRates(std::string_view text);
// The same for a file.
Result<std::vector<BenchRate>> ReadRates(const std::string& path);

// The cases in both: rates and their ratio, second divided by first.
struct BenchRatio {
  engine::MeasuredCase what;
  double first = 0;
  double second = 0;
  double ratio() const { return first == 0 ? 0 : second / first; }
};
// An error if there is no common case.
Result<std::vector<BenchRatio>> CompareRates(const std::vector<BenchRate>& first,
                                             const std::vector<BenchRate>& second);
nlohmann::ordered_json RatiosToJson(const std::vector<BenchRatio>& ratios);
void PrintRatios(const std::vector<BenchRatio>& ratios, Console& console);

}  // namespace aster::cli
