// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A request's error, and a reader of JSON fields that reports the first wrong one by name. Must not
// know which fields there are.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aster::serve {

struct Problem {
  int status = 0;  // of HTTP; 0: no problem
  std::string message = {};
  std::string param = {};  // the field, or empty
  std::string code = {};   // for programs, or empty
  // For a prompt that is too long: its tokens, and the limit. Each API has a sentence for that,
  // which its programs look for.
  uint64_t prompt_tokens = 0;
  uint64_t most_tokens = 0;
  std::string allow = {};  // allowed methods of the path, for status 405

  bool any() const { return status != 0; }
  // Keeps an earlier problem.
  void Set(int a_status, std::string_view a_param, std::string a_message,
           std::string_view a_code = "");
};

// The meaning of an engine's error to a client; `param` is the field to name if the client made the
// mistake.
Problem ProblemOf(const Error& error, std::string_view param = "");

// Parses `body`; null, and a problem, unless it is a JSON object. Depth and size are bounded.
nlohmann::ordered_json ParseBody(std::string_view body, Problem& problem);

// The fields of one object. Null counts as absent. A field of the wrong type is a problem, and
// counts as absent.
class Fields {
 public:
  // Both outlive it; problems put `path` before names: "messages[3].".
  Fields(const nlohmann::ordered_json& object, Problem& problem, std::string path = "");

  const nlohmann::ordered_json* Find(const char* key) const;
  std::optional<double> Number(const char* key, double low, double high) const;
  std::optional<int64_t> Integer(const char* key, int64_t low, int64_t high) const;
  std::optional<bool> Bool(const char* key) const;
  std::optional<std::string> String(const char* key) const;
  const nlohmann::ordered_json* Array(const char* key) const;
  const nlohmann::ordered_json* Object(const char* key) const;

  void Refuse(std::string_view key, std::string_view why) const;
  std::string PathOf(std::string_view key) const { return path_ + std::string(key); }
  Problem& problem() const { return problem_; }
  const nlohmann::ordered_json& json() const { return object_; }

 private:
  const nlohmann::ordered_json& object_;
  Problem& problem_;
  const std::string path_;
};

}  // namespace aster::serve
