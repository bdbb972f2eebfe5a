// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/markup.h"

#include <charconv>
#include <optional>

#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

std::string WithoutRegions(std::string_view text, std::string_view open, std::string_view close) {
  std::string rest;
  while (true) {
    const size_t begin = text.find(open);
    const size_t end =
        begin == std::string_view::npos ? begin : text.find(close, begin + open.size());
    if (end == std::string_view::npos) break;
    rest += text.substr(0, begin);
    text.remove_prefix(end + close.size());
  }
  return rest += text;
}

std::string WithSingleSpaces(std::string_view text) {
  std::string words;
  bool after_space = false;
  for (size_t offset = 0; offset < text.size();) {
    const char32_t c = DecodeNext(text, offset);
    if (IsSpace(c)) {
      after_space = true;
      continue;
    }
    if (after_space && !words.empty()) words += ' ';
    after_space = false;
    AppendCodePoint(words, c);
  }
  return words;
}

// The character that the entity's name, without & and ;, stands for.
std::optional<char32_t> CharacterOf(std::string_view name) {
  if (name == "amp") return '&';
  if (name == "lt") return '<';
  if (name == "gt") return '>';
  if (name == "quot") return '"';
  if (name == "apos") return '\'';
  if (name == "nbsp") return 0xA0;
  if (!name.starts_with('#') || name.size() < 2) return std::nullopt;
  const bool is_hex = name[1] == 'x' || name[1] == 'X';
  const std::string_view digits = name.substr(is_hex ? 2 : 1);
  uint32_t code_point = 0;
  const auto [stop, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), code_point, is_hex ? 16 : 10);
  if (error != std::errc() || stop != digits.data() + digits.size()) return std::nullopt;
  const bool is_character =
      code_point != 0 && code_point < kBadByte && !(code_point >= 0xD800 && code_point < 0xE000);
  return is_character ? code_point : 0xFFFD;
}

std::string Unescaped(std::string_view text) {
  constexpr size_t kLongestEntity = 12;
  std::string plain;
  while (!text.empty()) {
    const size_t begin = std::min(text.find('&'), text.size());
    plain += text.substr(0, begin);
    text.remove_prefix(begin);
    if (text.empty()) break;
    const size_t end = text.substr(0, kLongestEntity).find(';');
    const std::optional<char32_t> c =
        end == std::string_view::npos ? std::nullopt : CharacterOf(text.substr(1, end - 1));
    if (c) {
      AppendCodePoint(plain, *c);
      text.remove_prefix(end + 1);
    } else {
      plain += '&';
      text.remove_prefix(1);
    }
  }
  return plain;
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&#34;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string StripTags(std::string_view text) {
  const std::string without_comments = WithoutRegions(text, "<!--", "-->");
  return Unescaped(WithSingleSpaces(WithoutRegions(without_comments, "<", ">")));
}

}  // namespace aster::jinja
