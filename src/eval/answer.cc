// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/answer.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "eval/canonical_json.h"
#include "jinja/unicode.h"

namespace aster::eval {
namespace {

constexpr std::string_view kFinalMark = "Answer:";
constexpr std::string_view kCallBegin = "<tool_call>";
constexpr std::string_view kCallEnd = "</tool_call>";
constexpr std::string_view kNames[] = {"final", "whole", "json", "call"};

std::optional<std::string_view> FindFinal(std::string_view reply) {
  const size_t mark = reply.rfind(kFinalMark);
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string_view rest = reply.substr(mark + kFinalMark.size());
  return rest.substr(0, rest.find('\n'));
}

std::optional<std::string_view> FindCall(std::string_view reply) {
  const size_t begin = reply.find(kCallBegin);
  const size_t end = reply.find(kCallEnd);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
    return std::nullopt;
  }
  return reply.substr(begin + kCallBegin.size(), end - begin - kCallBegin.size());
}

}  // namespace

std::string_view ExtractName(Extract extract) { return kNames[static_cast<size_t>(extract)]; }

Result<Extract> ParseExtract(std::string_view name) {
  for (const Extract extract : {Extract::kFinal, Extract::kWhole, Extract::kJson, Extract::kCall}) {
    if (ExtractName(extract) == name) return extract;
  }
  return InvalidArgument(fmt::format("\"extract\" is \"{}\"; there are final, whole, json and call",
                                     ForDisplay(name)));
}

std::string PlainText(std::string_view text) {
  std::string words;
  bool between = true;
  for (size_t offset = 0; offset < text.size();) {
    const size_t begin = offset;
    if (jinja::IsSpace(jinja::DecodeNext(text, offset))) {
      between = true;
      continue;
    }
    if (between && !words.empty()) words += ' ';
    between = false;
    words += text.substr(begin, offset - begin);
  }
  words.erase(words.find_last_not_of('.') + 1);
  return jinja::ToLower(words);
}

std::optional<std::string_view> FindAnswer(std::string_view reply, Extract extract) {
  switch (extract) {
    case Extract::kFinal:
      return FindFinal(reply);
    case Extract::kCall:
      return FindCall(reply);
    case Extract::kWhole:
    case Extract::kJson:
      return reply;
  }
  return std::nullopt;
}

bool IsRight(std::string_view reply, std::string_view answer, Extract extract) {
  const auto found = FindAnswer(reply, extract);
  if (!found) return false;
  if (extract == Extract::kJson) return SameJson(*found, answer);
  if (extract == Extract::kCall) {
    const auto expected = FindCall(answer);
    return expected && SameJson(*found, *expected);
  }
  return PlainText(*found) == PlainText(answer);
}

}  // namespace aster::eval
