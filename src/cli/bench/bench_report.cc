// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/bench/bench_report.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/units.h"
#include "cli/run/run_report.h"
#include "cli/terminal/seconds.h"
#include "cli/terminal/table.h"

namespace aster::cli {
namespace {

using engine::MeasuredCase;
using engine::MeasuredKind;
using engine::Measurement;
using nlohmann::ordered_json;

// Larger than any report.
constexpr size_t kMaxReportBytes = size_t{64} << 20;

const char* KindName(MeasuredKind kind) {
  return kind == MeasuredKind::kPrefill ? "prefill" : "decode";
}

// The keys that identify the same case in two reports.
ordered_json CaseJson(const MeasuredCase& what) {
  return {{"kind", KindName(what.kind)},
          {"threads", what.threads},
          {"depth", what.depth},
          {"tokens", what.tokens},
          {"batch", what.batch}};
}

ordered_json ResultJson(const Measurement& result) {
  ordered_json json = CaseJson(result.what);
  json["tokens_per_s"] = result.tokens_per_s;
  std::vector<double> seconds;
  for (const int64_t duration_ns : result.durations_ns) seconds.push_back(Seconds(duration_ns));
  json["seconds"] = seconds;
  json["limit"] = result.what.kind == MeasuredKind::kPrefill ? "multiply_adds" : "read_bytes";
  const bool has_limit = result.limit_tokens_per_s > 0;
  json["limit_tokens_per_s"] = has_limit ? ordered_json(result.limit_tokens_per_s) : nullptr;
  json["fraction_of_limit"] = has_limit ? ordered_json(result.fraction_of_limit()) : nullptr;
  return json;
}

bool SameCase(const MeasuredCase& a, const MeasuredCase& b) {
  return a.kind == b.kind && a.threads == b.threads && a.depth == b.depth && a.tokens == b.tokens &&
         a.batch == b.batch;
}

// Columns that identify a line's case, in reports and comparisons.
std::vector<std::string> CaseCells(const MeasuredCase& what) {
  return {KindName(what.kind), fmt::format("{}", what.threads), fmt::format("{}", what.depth),
          fmt::format("{}", what.tokens), fmt::format("{}", what.batch)};
}

const std::vector<std::string> kCaseTitles = {"", "threads", "depth", "tokens", "sequences"};
constexpr auto kLeft = Table::Align::kLeft;
constexpr auto kRight = Table::Align::kRight;

std::vector<std::string> Joined(std::vector<std::string> first,
                                const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// A whole number for a count; nullopt if there is none.
template <typename T>
bool ReadCount(const ordered_json& json, const char* key, T& value) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_unsigned()) return false;
  const uint64_t number = found->template get<uint64_t>();
  value = static_cast<T>(number);
  return value == number;
}

Result<BenchRate> ReadRate(const ordered_json& json) {
  BenchRate rate;
  const auto kind = json.is_object() ? json.find("kind") : json.end();
  const auto speed = json.is_object() ? json.find("tokens_per_s") : json.end();
  const bool complete =
      kind != json.end() && (*kind == "prefill" || *kind == "decode") && speed != json.end() &&
      speed->is_number() && ReadCount(json, "threads", rate.what.threads) &&
      ReadCount(json, "depth", rate.what.depth) && ReadCount(json, "tokens", rate.what.tokens) &&
      ReadCount(json, "batch", rate.what.batch);
  if (!complete) {
    return InvalidArgument(
        "a result lacks its kind, threads, depth, tokens, batch or tokens_per_s: this is not what "
        "`aster bench --json` writes");
  }
  rate.what.kind = *kind == "prefill" ? MeasuredKind::kPrefill : MeasuredKind::kDecode;
  rate.tokens_per_s = speed->get<double>();
  if (!std::isfinite(rate.tokens_per_s) || rate.tokens_per_s < 0) {
    return InvalidArgument("a rate is not a number");
  }
  return rate;
}

}  // namespace

ordered_json BenchToJson(const BenchReport& report) {
  ordered_json limits = ordered_json::array();
  for (const engine::MeasuredThreads& measured : report.measured.threads) {
    limits.push_back({{"threads", measured.threads},
                      {"read_bytes_per_s", measured.limits.read_bytes_per_s},
                      {"multiply_adds_per_s", measured.limits.multiply_adds_per_s},
                      {"instruction", measured.limits.dot_instruction}});
  }
  ordered_json results = ordered_json::array();
  for (const Measurement& result : report.measured.results) results.push_back(ResultJson(result));
  ordered_json weights = ordered_json::array();
  for (const BenchWeights& some : report.weights) {
    weights.push_back({{"type", some.type},
                       {"file_bytes", some.file_bytes},
                       {"kernel", some.kernel},
                       {"activations", some.activations}});
  }
  const double load_s = Seconds(report.load_ns);
  ordered_json json = {
      {"model",
       {{"path", report.model},
        {"name", report.model_name},
        {"architecture", report.architecture},
        {"file_bytes", report.file_bytes},
        {"packed_bytes", report.packed_bytes}}},
      {"isa", report.isa},
      {"weights", std::move(weights)},
      {"split", report.split},
      {"kv_type", report.kv_type},
      {"repetitions", report.repetitions},
      {"chunk", report.chunk},
      {"load",
       {{"threads", report.load_threads},
        {"seconds", load_s},
        {"bytes_per_s", load_s > 0 ? static_cast<double>(report.packed_bytes) / load_s : 0},
        {"peak_memory_bytes", report.load_peak_bytes}}},
      {"limits", std::move(limits)},
      {"results", std::move(results)},
      {"peak_memory_bytes", report.peak_bytes}};
  if (!report.inexact.empty()) json["inexact"] = report.inexact;
  if (!report.reasons.empty()) json["reasons"] = report.reasons;
  if (!report.left_out.empty()) json["left_out"] = LeftOutToJson(report.left_out);
  return json;
}

void PrintHead(const BenchReport& report, Console& console) {
  if (!report.split.empty()) {
    console.Print("{}  {}, on {}; {} thread{} each, ready in {}\n", report.model,
                  report.architecture, report.split, report.load_threads,
                  report.load_threads == 1 ? "" : "s", FormatDuration(report.load_ns));
    if (!report.inexact.empty()) console.Print("not exact: {}\n", report.inexact);
    for (const std::string& reason : report.reasons) console.Print("{}\n", reason);
    for (const open::AbsentNode& node : report.left_out)
      console.Print("{} is left out: it {}\n", node.name, node.why);
    return;
  }
  console.Print("{}  {}, {} packed; kernels for {}\n", report.model, report.architecture,
                FormatBytes(report.packed_bytes), report.isa);
  console.Print("loaded in {} by {} thread{} ({}); {} of memory then, {} at most\n",
                FormatDuration(report.load_ns), report.load_threads,
                report.load_threads == 1 ? "" : "s",
                FormatByteRate(static_cast<double>(report.packed_bytes) /
                               std::max(Seconds(report.load_ns), 1e-9)),
                FormatBytes(report.load_peak_bytes), FormatBytes(report.peak_bytes));
  Table weights({kLeft, kRight, kLeft, kLeft});
  weights.AddRow({"weights", "in the file", "kernel", "activations"});
  for (const BenchWeights& some : report.weights) {
    weights.AddRow({some.type, FormatBytes(some.file_bytes), some.kernel, some.activations});
  }
  console.Write("\n" + weights.Render(0) + "\n");
}

void PrintBench(const BenchReport& report, Console& console) {
  PrintHead(report, console);
  for (const engine::MeasuredThreads& measured : report.measured.threads) {
    console.Print(
        "roofline of {} thread{}: memory bandwidth {}, peak {:.3g} T multiply-adds/s ({})\n",
        measured.threads, measured.threads == 1 ? "" : "s",
        FormatByteRate(measured.limits.read_bytes_per_s),
        measured.limits.multiply_adds_per_s * 1e-12, measured.limits.dot_instruction);
  }
  Table table({kLeft, kRight, kRight, kRight, kRight, kRight, kRight, kRight});
  table.AddRow(Joined(kCaseTitles, {"tokens/s", "spread", "of roofline"}));
  for (const Measurement& result : report.measured.results) {
    const auto [least, most] =
        std::minmax_element(result.durations_ns.begin(), result.durations_ns.end());
    table.AddRow(Joined(
        CaseCells(result.what),
        {fmt::format("{:.4g}", result.tokens_per_s),
         fmt::format("{:.0f} %", 100 * static_cast<double>(*most - *least) /
                                     static_cast<double>(std::max<int64_t>(*most, 1))),
         result.limit_tokens_per_s > 0 ? fmt::format("{:.1f} %", 100 * result.fraction_of_limit())
                                       : "-"}));
  }
  console.Write("\n" + table.Render(0));
}

std::vector<BenchRate> RatesOf(const BenchReport& report) {
  std::vector<BenchRate> rates;
  for (const Measurement& result : report.measured.results) {
    rates.push_back({result.what, result.tokens_per_s});
  }
  return rates;
}

Result<std::vector<BenchRate>> ParseRates(std::string_view text) {
  const auto json = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto results = json.is_object() ? json.find("results") : json.end();
  if (results == json.end() || !results->is_array()) {
    return InvalidArgument("not a report that `aster bench --json` writes");
  }
  std::vector<BenchRate> rates;
  for (const ordered_json& result : *results) rates.push_back(TRY(ReadRate(result)));
  return rates;
}

Result<std::vector<BenchRate>> ReadRates(const std::string& path) {
  return ParseRates(TRY(ReadFile(path, kMaxReportBytes))).In(path);
}

Result<std::vector<BenchRatio>> CompareRates(const std::vector<BenchRate>& first,
                                             const std::vector<BenchRate>& second) {
  std::vector<BenchRatio> ratios;
  for (const BenchRate& a : first) {
    for (const BenchRate& b : second) {
      if (!SameCase(a.what, b.what)) continue;
      ratios.push_back({a.what, a.tokens_per_s, b.tokens_per_s});
      break;
    }
  }
  if (ratios.empty()) {
    return InvalidArgument(
        "the reports have no case in common: measure the same prompts, answers, depths, threads "
        "and batches in both");
  }
  return ratios;
}

ordered_json RatiosToJson(const std::vector<BenchRatio>& ratios) {
  ordered_json list = ordered_json::array();
  for (const BenchRatio& ratio : ratios) {
    ordered_json json = CaseJson(ratio.what);
    json["first_tokens_per_s"] = ratio.first;
    json["second_tokens_per_s"] = ratio.second;
    json["ratio"] = ratio.ratio();
    list.push_back(std::move(json));
  }
  return {{"ratios", std::move(list)}};
}

void PrintRatios(const std::vector<BenchRatio>& ratios, Console& console) {
  Table table({kLeft, kRight, kRight, kRight, kRight, kRight, kRight, kRight});
  table.AddRow(Joined(kCaseTitles, {"first", "second", "ratio"}));
  for (const BenchRatio& ratio : ratios) {
    table.AddRow(Joined(CaseCells(ratio.what),
                        {fmt::format("{:.4g}", ratio.first), fmt::format("{:.4g}", ratio.second),
                         fmt::format("{:.2f}x", ratio.ratio())}));
  }
  console.Write(table.Render(0));
}

}  // namespace aster::cli
