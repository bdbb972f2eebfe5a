// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_limits.h"
#include "base/utf8.h"
#include "respond/json_error.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

int StatusOf(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
    case Code::kFailedPrecondition:
    case Code::kUnimplemented:
      return 400;
    case Code::kNotFound:
      return 404;
    case Code::kResourceExhausted:
      return 429;
    case Code::kUnavailable:
      return 503;
    case Code::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

}  // namespace

void Problem::Set(int a_status, std::string_view a_param, std::string a_message,
                  std::string_view a_code) {
  if (any()) return;
  status = a_status;
  message = std::move(a_message);
  param = a_param;
  code = a_code;
}

Problem ProblemOf(const Error& error, std::string_view param) {
  Problem problem{.status = StatusOf(error.code()), .message = error.message()};
  if (problem.status == 400) problem.param = param;
  if (error.code() == Code::kOutOfRange) problem.code = "context_length_exceeded";
  return problem;
}

ordered_json ParseBody(std::string_view body, Problem& problem) {
  if (!IsValidUtf8(body)) {
    problem.Set(400, "", fmt::format("the body is not UTF-8 (at byte {})", ValidUtf8Prefix(body)));
    return nullptr;
  }
  const Status fits = JsonLimits().Check(body);
  if (!fits.ok()) {
    problem.Set(400, "", "the body has " + fits.error().message());
    return nullptr;
  }
  ordered_json json = ordered_json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    problem.Set(400, "",
                fmt::format("the body is not JSON, or has an invalid number or character (at byte "
                            "{})",
                            respond::FindJsonError(body)));
  }
  if (!json.is_discarded() && !json.is_object())
    problem.Set(400, "", "the body is not a JSON object");
  return problem.any() ? ordered_json() : json;
}

Fields::Fields(const ordered_json& object, Problem& problem, std::string path)
    : object_(object), problem_(problem), path_(std::move(path)) {}

void Fields::Refuse(std::string_view key, std::string_view why) const {
  const std::string path = PathOf(key);
  problem_.Set(400, path, fmt::format("{}: {}", path, why));
}

const ordered_json* Fields::Find(const char* key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<double> Fields::Number(const char* key, double low, double high) const {
  const ordered_json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : low - 1;
  if (!(number >= low && number <= high)) {
    Refuse(key, fmt::format("give a number from {} to {}", low, high));
    return std::nullopt;
  }
  return number;
}

std::optional<int64_t> Fields::Integer(const char* key, int64_t low, int64_t high) const {
  const ordered_json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  const bool fits = value->is_number_integer() &&
                    (!value->is_number_unsigned() ||
                     value->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX)) &&
                    value->get<int64_t>() >= low && value->get<int64_t>() <= high;
  if (!fits) {
    Refuse(key, high == INT64_MAX ? fmt::format("give a whole number of at least {}, and of "
                                                "at most 19 digits",
                                                low)
                                  : fmt::format("give a whole number from {} to {}", low, high));
    return std::nullopt;
  }
  return value->get<int64_t>();
}

std::optional<bool> Fields::Bool(const char* key) const {
  const ordered_json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  Refuse(key, "give true or false");
  return std::nullopt;
}

std::optional<std::string> Fields::String(const char* key) const {
  const ordered_json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  Refuse(key, "give a text");
  return std::nullopt;
}

const ordered_json* Fields::Array(const char* key) const {
  const ordered_json* value = Find(key);
  if (value == nullptr || value->is_array()) return value;
  Refuse(key, "give a list");
  return nullptr;
}

const ordered_json* Fields::Object(const char* key) const {
  const ordered_json* value = Find(key);
  if (value == nullptr || value->is_object()) return value;
  Refuse(key, "give an object");
  return nullptr;
}

}  // namespace aster::serve
