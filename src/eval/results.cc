// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/results.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/utf8.h"

namespace aster::eval {
namespace {

using nlohmann::ordered_json;

constexpr const char* kFormatKey = "asterism_eval";
constexpr int kFormatVersion = 1;

// Replies may have any bytes: invalid UTF-8 is replaced.
std::string LineOf(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Result<std::string> WrittenText(const ordered_json& object, const char* key) {
  const auto member = object.find(key);
  if (member == object.end() || !member->is_string()) {
    return DataLoss(fmt::format("\"{}\" is missing or no text", key));
  }
  return member->get<std::string>();
}

Result<uint64_t> CountOf(const ordered_json& object, const char* key) {
  const auto member = object.find(key);
  if (member == object.end() || !member->is_number_unsigned()) {
    return DataLoss(fmt::format("\"{}\" is missing or no count", key));
  }
  return member->get<uint64_t>();
}

Result<bool> FlagOf(const ordered_json& object, const char* key) {
  const auto member = object.find(key);
  if (member == object.end() || !member->is_boolean()) {
    return DataLoss(fmt::format("\"{}\" is missing or neither true nor false", key));
  }
  return member->get<bool>();
}

// A missing time is 0: nothing depends on it.
double SecondsOf(const ordered_json& object, const char* key) {
  const auto member = object.find(key);
  return member != object.end() && member->is_number() ? member->get<double>() : 0;
}

// Lines are flat except for "settings" and "times": deeper values are not ours, and are dropped
// while parsing.
Result<ordered_json> ParseLine(std::string_view line) {
  const auto keep_shallow = [](int depth, ordered_json::parse_event_t /*event*/,
                               ordered_json& /*parsed*/) { return depth <= 3; };
  ordered_json json = ordered_json::parse(line, keep_shallow, /*allow_exceptions=*/false);
  if (!json.is_object()) return DataLoss("is no JSON object");
  return json;
}

Result<ResultHeader> ParseHeader(std::string_view line) {
  const ordered_json json = TRY(ParseLine(line));
  const auto version = json.find(kFormatKey);
  if (version == json.end() || !version->is_number_integer()) {
    return DataLoss("is no result of aster eval");
  }
  if (*version != kFormatVersion) {
    return Unimplemented("was written by another version of aster eval");
  }
  ResultHeader header;
  header.model = TRY(WrittenText(json, "model"));
  header.fingerprint = TRY(WrittenText(json, "fingerprint"));
  header.questions = TRY(WrittenText(json, "questions"));
  const auto settings = json.find("settings");
  if (settings == json.end() || !settings->is_object()) return DataLoss("has no settings");
  for (const auto& [name, value] : settings->items()) {
    if (!value.is_string()) return DataLoss("a setting is no text");
    header.settings[name] = value.get<std::string>();
  }
  return header;
}

Result<QuestionResult> ParseResult(std::string_view line) {
  const ordered_json json = TRY(ParseLine(line));
  QuestionResult result;
  result.id = TRY(WrittenText(json, "id"));
  result.category = TRY(WrittenText(json, "category"));
  result.prompt_tokens = TRY(CountOf(json, "prompt_tokens"));
  if (json.contains("skipped")) {
    result.skipped = true;
    return result;
  }
  result.reply_tokens = TRY(CountOf(json, "reply_tokens"));
  result.reply = TRY(WrittenText(json, "reply"));
  result.expected = TRY(WrittenText(json, "expected"));
  result.right = TRY(FlagOf(json, "right"));
  result.finish = TRY(WrittenText(json, "finish_reason"));
  if (const auto found = json.find("extracted"); found != json.end() && found->is_string()) {
    result.extracted = found->get<std::string>();
  }
  if (const auto times = json.find("times"); times != json.end() && times->is_object()) {
    result.waited_s = SecondsOf(*times, "waited_s");
    result.prefill_s = SecondsOf(*times, "prefill_s");
    result.decode_s = SecondsOf(*times, "decode_s");
  }
  return result;
}

Error Differs(std::string_view what, std::string_view theirs, std::string_view ours) {
  return FailedPrecondition(
      fmt::format("was begun with {} {}, and this run has {}: give another --out file, or the "
                  "options of that run",
                  what, ForDisplay(theirs), ForDisplay(ours)));
}

std::string_view SettingOf(const ResultHeader& header, const std::string& name) {
  const auto setting = header.settings.find(name);
  return setting == header.settings.end() ? std::string_view("unset") : setting->second;
}

}  // namespace

Status CheckSameRun(const ResultHeader& theirs, const ResultHeader& ours) {
  if (theirs.fingerprint != ours.fingerprint) {
    return Differs("the model", fmt::format("{} ({})", theirs.model, theirs.fingerprint),
                   fmt::format("{} ({})", ours.model, ours.fingerprint));
  }
  if (theirs.questions != ours.questions) {
    return Differs("the questions", theirs.questions, ours.questions);
  }
  std::map<std::string, std::string> all = theirs.settings;
  all.insert(ours.settings.begin(), ours.settings.end());
  for (const auto& [name, value] : all) {
    const std::string_view first = SettingOf(theirs, name);
    const std::string_view second = SettingOf(ours, name);
    if (first != second) return Differs(ForDisplay(name), first, second);
  }
  return Ok();
}

std::string FormatHeader(const ResultHeader& header) {
  ordered_json settings = ordered_json::object();
  for (const auto& [name, value] : header.settings) settings[name] = value;
  return LineOf({{kFormatKey, kFormatVersion},
                 {"model", header.model},
                 {"fingerprint", header.fingerprint},
                 {"questions", header.questions},
                 {"settings", std::move(settings)}});
}

std::string FormatResult(const QuestionResult& result) {
  ordered_json json = {
      {"id", result.id}, {"category", result.category}, {"prompt_tokens", result.prompt_tokens}};
  if (result.skipped) {
    json["skipped"] = "longer than the context";
    return LineOf(json);
  }
  json["reply_tokens"] = result.reply_tokens;
  json["reply"] = result.reply;
  json["extracted"] = result.extracted ? ordered_json(*result.extracted) : ordered_json();
  json["expected"] = result.expected;
  json["right"] = result.right;
  json["finish_reason"] = result.finish;
  json["times"] = {{"waited_s", result.waited_s},
                   {"prefill_s", result.prefill_s},
                   {"decode_s", result.decode_s}};
  return LineOf(json);
}

Result<Results> ParseResults(std::string_view text) {
  Results results;
  std::unordered_set<std::string> ids;
  for (size_t number = 1;; ++number) {
    const std::string_view rest = text.substr(results.whole_bytes);
    const size_t size = rest.find('\n');
    if (size == std::string_view::npos) break;
    const std::string_view line = rest.substr(0, size);
    const std::string where = fmt::format("line {}", number);
    if (number == 1) {
      results.header = TRY(ParseHeader(line).In(where));
    } else {
      QuestionResult result = TRY(ParseResult(line).In(where));
      if (!ids.insert(result.id).second) {
        return DataLoss(fmt::format("{}: a second result of \"{}\"", where, ForDisplay(result.id)));
      }
      results.results.push_back(std::move(result));
    }
    results.whole_bytes += size + 1;
  }
  if (results.whole_bytes == 0) return DataLoss("has no whole line");
  return results;
}

}  // namespace aster::eval
