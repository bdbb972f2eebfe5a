// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/run/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/units.h"
#include "cli/terminal/console.h"
#include "cli/terminal/seconds.h"
#include "open/drafts.h"
#include "open/kv_cache.h"

namespace aster::cli {
namespace {

using nlohmann::ordered_json;

// The tokens that the times belong to: the computed ones of the prompts, and all of the answers but
// their first ones, which the prompts gave.
uint64_t Prefilled(const engine::RequestCounts& counts) { return counts.prompt - counts.cached; }
uint64_t Decoded(const engine::RequestCounts& counts, uint64_t answers) {
  return counts.generated > answers ? counts.generated - answers : 0;
}

const char* ReasonName(engine::FinishReason reason) {
  switch (reason) {
    case engine::FinishReason::kStopToken:
      return "stop_token";
    case engine::FinishReason::kStopString:
      return "stop_string";
    case engine::FinishReason::kLength:
      return "length";
    case engine::FinishReason::kContext:
      return "context";
    case engine::FinishReason::kCancelled:
      return "cancelled";
    case engine::FinishReason::kFailed:
      return "failed";
  }
  return "";
}

}  // namespace

ordered_json DraftsToJson(const engine::DraftCounts& counts) {
  const auto steps = static_cast<double>(std::max<uint64_t>(counts.steps, 1));
  return {{"drafted", counts.drafted},
          {"accepted", counts.accepted},
          {"steps", counts.steps},
          {"tokens_per_step", 1 + static_cast<double>(counts.accepted) / steps}};
}

ordered_json CallToJson(const respond::Call& call) {
  ordered_json arguments = ordered_json::parse(call.arguments, nullptr, /*allow_exceptions=*/false);
  // A truncated call has only the beginning of its arguments.
  if (arguments.is_discarded()) arguments = call.arguments;
  return {{"id", call.id}, {"name", call.name}, {"arguments", std::move(arguments)}};
}

ordered_json AlternativeToJson(const plan::Alternative& of) {
  ordered_json json = {{"kind", of.kind}, {"taken", of.is_taken}};
  if (of.plan) {
    json["options"] = plan::OptionsText(*of.plan);
    json["first_token_s"] = of.first_token_s;
    json["decode_tokens_per_s"] = of.decode_tokens_per_s;
    json["request_s"] = of.request_s;
    if (of.held_tokens > 0) {
      json["held_tokens"] = of.held_tokens;
      json["fetch_s"] = of.fetch_s;
    }
  }
  if (!of.is_taken) json["why"] = of.why;
  return json;
}

ordered_json LeftOutToJson(const std::vector<open::AbsentNode>& nodes) {
  ordered_json json = ordered_json::array();
  for (const open::AbsentNode& node : nodes)
    json.push_back({{"node", node.id.ToText()}, {"name", node.name}, {"why", node.why}});
  return json;
}

std::string DumpLine(const ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

ordered_json RunToJson(const RunReport& report) {
  const engine::Generated& answer = report.answered->generated;
  const respond::Reply& reply = report.answered->reply;
  const engine::RequestCounts& counts = answer.finish.counts;
  const engine::RequestTimes& times = answer.finish.times;
  ordered_json json = {{"model", report.model},
                       {"ids", answer.tokens},
                       {"text", answer.text},
                       {"finish_reason", ReasonName(answer.finish.reason)}};
  if (!reply.reasoning.empty() || !reply.calls.empty()) json["content"] = reply.content;
  if (!reply.reasoning.empty()) json["reasoning"] = reply.reasoning;
  for (const respond::Call& call : reply.calls) json["tool_calls"].push_back(CallToJson(call));
  if (answer.finish.reason == engine::FinishReason::kStopToken) {
    json["stop_token"] = answer.finish.stop_token;
  }
  if (answer.finish.reason == engine::FinishReason::kStopString) {
    json["stop_string"] = answer.finish.stop_string;
  }
  json["seed"] = report.seed;
  json["tokens"] = {
      {"prompt", counts.prompt}, {"cached", counts.cached}, {"generated", counts.generated}};
  json["timings"] = {
      {"load_s", Seconds(report.load_ns)},
      {"prefill_s", Seconds(times.prefill_ns)},
      {"decode_s", Seconds(times.decode_ns)},
      {"prefill_tokens_per_s", PerSecond(Prefilled(counts), times.prefill_ns)},
      {"decode_tokens_per_s", PerSecond(Decoded(counts, /*answers=*/1), times.decode_ns)},
      {"first_token_s", Seconds(report.load_ns + times.waited_ns + times.prefill_ns)}};
  const engine::DraftCounts& drafts = counts.drafts;
  if (drafts.steps > 0) json["draft"] = DraftsToJson(drafts);
  if (report.kv_cache) json["kv_cache"] = open::KvCacheToJson(*report.kv_cache);
  if (!report.inexact.empty()) json["inexact"] = report.inexact;
  for (const open::HopFigures& hop : report.hops) {
    json["hops"].push_back({{"node", hop.node},
                            {"layers", hop.layers},
                            {"frames", hop.frames},
                            {"compute_s", Seconds(static_cast<int64_t>(hop.compute_ns))},
                            {"wait_s", Seconds(static_cast<int64_t>(hop.queue_ns))},
                            {"send_s", Seconds(static_cast<int64_t>(hop.send_ns))},
                            {"idle_s", Seconds(static_cast<int64_t>(hop.idle_ns))},
                            {"sent_bytes", hop.sent_bytes}});
    if (hop.gather_bytes == 0) continue;
    json["hops"].back()["gather_s"] = Seconds(static_cast<int64_t>(hop.gather_ns));
    json["hops"].back()["gather_bytes"] = hop.gather_bytes;
    json["hops"].back()["gathers"] = hop.gathers;
    json["hops"].back()["gather_send_s"] = Seconds(static_cast<int64_t>(hop.gather_send_ns));
  }
  if (!report.forecasts.empty() && report.forecasts.back().token_s > 0) {
    const conduct::RequestForecast& of = report.forecasts.back();
    json["predicted"] = {{"prefill_s", of.first_token_s}, {"decode_tokens_per_s", 1 / of.token_s}};
    if (of.actual_fetch_s > 0) {
      json["predicted"]["fetch_s"] = of.fetch_s > 0 ? ordered_json(of.fetch_s) : ordered_json();
      json["timings"]["fetch_s"] = of.actual_fetch_s;
    }
  }
  for (const plan::Alternative& of : report.alternatives)
    json["plans"].push_back(AlternativeToJson(of));
  if (!report.reasons.empty()) json["reasons"] = report.reasons;
  if (!report.left_out.empty()) json["left_out"] = LeftOutToJson(report.left_out);
  for (const open::RowsFromNode& from : report.fetched) {
    json["fetched"].push_back(
        {{"node", from.node}, {"tokens", from.tokens}, {"bytes", from.bytes}});
  }
  if (const open::KvTransfers& transfers = report.kv_transfers; transfers.prompts > 0) {
    json["kv_transfer"] = {{"bytes", transfers.bytes},
                           {"exposed_s", Seconds(transfers.exposed_ns)}};
    json["handed_over"] = json["kv_transfer"];  // an earlier name, which scripts may use
  }
  return json;
}

std::string DescribeRates(const engine::RequestCounts& counts, const engine::RequestTimes& times,
                          uint64_t answers) {
  std::string text = fmt::format("prompt {} tokens", counts.prompt);
  if (counts.cached > 0) text += fmt::format(", {} of them cached", counts.cached);
  if (times.prefill_ns > 0) {
    text += ", " + FormatRate(PerSecond(Prefilled(counts), times.prefill_ns), "tokens");
  }
  text += fmt::format("; answer {} tokens", counts.generated);
  if (times.decode_ns > 0) {
    text += ", " + FormatRate(PerSecond(Decoded(counts, answers), times.decode_ns), "tokens");
  }
  if (const std::string drafts = open::DescribeDrafts(counts.drafts); !drafts.empty()) {
    text += "; " + drafts;
  }
  return text;
}

std::string DescribeTools(const nlohmann::ordered_json& tools) {
  std::string lines;
  for (const auto& tool : tools) {
    const auto function = tool.value("function", nlohmann::ordered_json::object());
    lines += fmt::format("  {}  {}\n", Harmless(function.value("name", "")),
                         Harmless(function.value("description", "")));
  }
  return lines;
}

}  // namespace aster::cli
