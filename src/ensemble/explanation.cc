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

std::string AuthorsOf(const Answer& answer, const Candidate& candidate) {
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

std::string LineOf(const Answer& answer, const Candidate& candidate, bool is_taken) {
  std::string line = fmt::format("{} {}: {} bits/byte", is_taken ? "taken  " : "dropped",
                                 AuthorsOf(answer, candidate), BitsText(candidate.bits_per_byte));
  std::string each;
  for (size_t i = 0; i < candidate.member_bits.size(); ++i) {
    if (answer.parts[i].weight == 0) continue;
    each += fmt::format("{}{} {}", each.empty() ? "" : ", ", answer.parts[i].member,
                        BitsText(candidate.member_bits[i]));
  }
  return each.empty() ? line : line + " (" + each + ")";
}

const char* WordFor(Decision decision) {
  switch (decision) {
    case Decision::kAlone:
      return "alone";
    case Decision::kLikely:
      return "likely";
    case Decision::kAgreed:
      return "agreed";
    case Decision::kContested:
      return "contested";
    case Decision::kSurest:
      return "surest";
    case Decision::kMixed:
      return "mixed";
  }
  return "";
}

// A span on a line, without its control characters.
std::string Quoted(const std::string& text) {
  return ordered_json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string LinesOf(const Answer& answer, const DecidedSpan& span) {
  std::string lines;
  for (size_t c = 0; c < span.candidates.size(); ++c) {
    const Candidate& candidate = span.candidates[c];
    const bool is_rated = span.candidates.size() > 1 || span.decision == Decision::kMixed;
    if (is_rated) {
      lines += LineOf(answer, candidate, c == span.chosen) + " " + Quoted(candidate.text) + "\n";
    } else {
      lines += fmt::format("taken   {}: {} {}\n", AuthorsOf(answer, candidate),
                           WordFor(span.decision), Quoted(candidate.text));
    }
  }
  return lines;
}

std::string AbsenceLines(const Answer& answer) {
  std::string lines;
  for (const Part& part : answer.parts) {
    if (part.absence) {
      lines += fmt::format("absent  {}: {}", part.member, part.absence->message());
      if (part.missed_spans > 0)
        lines += fmt::format(" ({} of {} spans)", part.missed_spans, answer.spans.size());
      lines += "\n";
    } else if (part.weight == 0) {
      lines += fmt::format("absent  {}: its weight is 0\n", part.member);
    }
  }
  return lines;
}

ordered_json CandidateJson(const Answer& answer, const Candidate& candidate, bool is_taken) {
  ordered_json json = {{"taken", is_taken}, {"authors", ordered_json::array()}};
  for (const size_t author : candidate.authors)
    json["authors"].push_back(answer.parts[author].member);
  json["text"] = candidate.text;
  if (!candidate.member_bits.empty()) json["bits_per_byte"] = BitsJson(candidate.bits_per_byte);
  for (size_t i = 0; i < candidate.member_bits.size(); ++i)
    json["member_bits_per_byte"][answer.parts[i].member] = BitsJson(candidate.member_bits[i]);
  return json;
}

ordered_json CandidatesJson(const Answer& answer, const std::vector<Candidate>& candidates,
                            size_t chosen) {
  ordered_json all = ordered_json::array();
  for (size_t c = 0; c < candidates.size(); ++c)
    all.push_back(CandidateJson(answer, candidates[c], c == chosen));
  return all;
}

ordered_json SpansJson(const Answer& answer) {
  ordered_json spans = ordered_json::array();
  for (const DecidedSpan& span : answer.spans) {
    spans.push_back({{"decision", WordFor(span.decision)},
                     {"candidates", CandidatesJson(answer, span.candidates, span.chosen)}});
  }
  return spans;
}

ordered_json MemberJson(const Part& part, Policy policy) {
  ordered_json json = {{"name", part.member},
                       {"weight", part.weight},
                       {"answered", part.has_answered},
                       {"tokens",
                        {{"prompt", part.counts.prompt},
                         {"cached", part.counts.cached},
                         {"generated", part.counts.generated},
                         {"rated", part.rated_tokens},
                         {"computed", part.computed_tokens}}}};
  if (policy == Policy::kSpans) json["missed_spans"] = part.missed_spans;
  if (policy == Policy::kBytes) json["left_out"] = part.left_out;
  if (part.absence) json["absence"] = part.absence->message();
  return json;
}

}  // namespace

std::string Authors(const Answer& answer) {
  if (answer.policy == Policy::kChoose) return answer.author();
  return AuthorsOf(answer, answer.candidates[answer.chosen]);
}

std::string Explain(const Answer& answer) {
  std::string lines;
  if (!answer.policy_reason.empty())
    lines = fmt::format("policy  {}: {}\n", PolicyName(answer.policy), answer.policy_reason);
  if (answer.policy != Policy::kChoose) {
    for (const DecidedSpan& span : answer.spans) lines += LinesOf(answer, span);
  } else if (answer.candidates.size() == 1) {
    lines += "taken   " + AuthorsOf(answer, answer.candidates.front()) + ": no other answer\n";
  } else {
    for (size_t c = 0; c < answer.candidates.size(); ++c)
      lines += LineOf(answer, answer.candidates[c], c == answer.chosen) + "\n";
  }
  lines += AbsenceLines(answer);
  lines.pop_back();
  return lines;
}

ordered_json ExplanationToJson(const Answer& answer) {
  ordered_json json = {{"policy", PolicyName(answer.policy)}};
  if (!answer.policy_reason.empty()) json["policy_reason"] = answer.policy_reason;
  json["author"] = answer.author();
  json["candidates"] = CandidatesJson(answer, answer.candidates, answer.chosen);
  if (answer.policy != Policy::kChoose) json["spans"] = SpansJson(answer);
  json["members"] = ordered_json::array();
  for (const Part& part : answer.parts) json["members"].push_back(MemberJson(part, answer.policy));
  return json;
}

}  // namespace aster::ensemble
