// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/explanation.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

namespace aster::ensemble {
namespace {

using nlohmann::ordered_json;

std::string Authors(const Answer& answer, const Candidate& candidate) {
  std::string names;
  for (const size_t author : candidate.authors) {
    names += (names.empty() ? "" : ", ") + answer.parts[author].member;
  }
  return names;
}

std::string BitsText(double bits) {
  return std::isfinite(bits) ? fmt::format("{:.4f}", bits) : std::string("not rated");
}

// JSON has no infinity.
ordered_json BitsJson(double bits) {
  return std::isfinite(bits) ? ordered_json(bits) : ordered_json();
}

std::string LineOf(const Answer& answer, size_t c) {
  const Candidate& candidate = answer.candidates[c];
  std::string line = fmt::format("{} {}: {} bits/byte", c == answer.chosen ? "taken  " : "dropped",
                                 Authors(answer, candidate), BitsText(candidate.bits_per_byte));
  std::string each;
  for (size_t i = 0; i < candidate.member_bits.size(); ++i) {
    if (answer.parts[i].weight == 0) continue;
    each += fmt::format("{}{} {}", each.empty() ? "" : ", ", answer.parts[i].member,
                        BitsText(candidate.member_bits[i]));
  }
  return each.empty() ? line : line + " (" + each + ")";
}

}  // namespace

std::string Explain(const Answer& answer) {
  std::string lines;
  if (answer.candidates.size() == 1) {
    lines = "taken   " + Authors(answer, answer.candidates.front()) + ": no other answer\n";
  } else {
    for (size_t c = 0; c < answer.candidates.size(); ++c) lines += LineOf(answer, c) + "\n";
  }
  for (const Part& part : answer.parts) {
    if (part.absence) {
      lines += fmt::format("absent  {}: {}\n", part.member, part.absence->message());
    } else if (part.weight == 0) {
      lines += fmt::format("absent  {}: its weight is 0\n", part.member);
    }
  }
  lines.pop_back();
  return lines;
}

ordered_json ExplanationToJson(const Answer& answer) {
  ordered_json candidates = ordered_json::array();
  for (size_t c = 0; c < answer.candidates.size(); ++c) {
    const Candidate& candidate = answer.candidates[c];
    ordered_json json = {{"taken", c == answer.chosen}, {"authors", ordered_json::array()}};
    for (const size_t author : candidate.authors)
      json["authors"].push_back(answer.parts[author].member);
    json["text"] = candidate.text;
    if (!candidate.member_bits.empty()) json["bits_per_byte"] = BitsJson(candidate.bits_per_byte);
    for (size_t i = 0; i < candidate.member_bits.size(); ++i)
      json["member_bits_per_byte"][answer.parts[i].member] = BitsJson(candidate.member_bits[i]);
    candidates.push_back(std::move(json));
  }
  ordered_json members = ordered_json::array();
  for (const Part& part : answer.parts) {
    ordered_json json = {{"name", part.member},
                         {"weight", part.weight},
                         {"answered", part.has_answered},
                         {"tokens",
                          {{"prompt", part.counts.prompt},
                           {"cached", part.counts.cached},
                           {"generated", part.counts.generated},
                           {"rated", part.rated_tokens}}}};
    if (part.absence) json["absence"] = part.absence->message();
    members.push_back(std::move(json));
  }
  return {{"policy", "choose"},
          {"author", answer.author()},
          {"candidates", std::move(candidates)},
          {"members", std::move(members)}};
}

}  // namespace aster::ensemble
