// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What is wrong with a request, and the fields of its JSON, read so that the first that is wrong is
// named. Must not know which fields there are.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aster::serve {

struct Problem {
  int status = 0;  // of HTTP; 0: nothing is wrong
  std::string message = {};
  std::string param = {};  // the field, or empty
  std::string code = {};   // for programs, or empty
  // Of a prompt that is too long: its tokens, and how many there may be. Each API has a sentence
  // for it that its programs look for.
  uint64_t prompt_tokens = 0;
  uint64_t most_tokens = 0;
  std::string allow = {};  // methods that the path takes, of status 405

  bool any() const { return status != 0; }
  // Unless something was wrong already.
  void Set(int a_status, std::string_view a_param, std::string a_message,
           std::string_view a_code = "");
};

// What an error of the engine means to a client, who is to look at this field where the mistake is
// his.
Problem ProblemOf(const Error& error, std::string_view param = "");

// The JSON object that `body` is; null, and a problem, where it is none. Depth and size are
// bounded.
nlohmann::ordered_json ParseBody(std::string_view body, Problem& problem);

// One object's fields. Null counts as absent. A field of the wrong kind is a problem, and absent.
class Fields {
 public:
  // Both outlive it; `path` goes before names in problems: "messages[3].".
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
