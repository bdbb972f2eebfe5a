// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/tagged_call.h"

#include <optional>

#include "base/json_string.h"
#include "chat/json_scanner.h"

namespace aster::chat {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

Error NoCall() { return InvalidArgument("not a call"); }

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Takes pieces off the front of a text.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  void SkipSpace() {
    const size_t begin = rest_.find_first_not_of(kBlanks);
    rest_.remove_prefix(begin == std::string_view::npos ? rest_.size() : begin);
  }
  bool Take(std::string_view literal) {
    if (!rest_.starts_with(literal)) return false;
    rest_.remove_prefix(literal.size());
    return true;
  }
  // The text before the mark; removes both.
  std::optional<std::string_view> TakeUntil(std::string_view mark) {
    const size_t end = rest_.find(mark);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view taken = rest_.substr(0, end);
    rest_.remove_prefix(end + mark.size());
    return taken;
  }
  bool at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  void Drop(size_t count) { rest_.remove_prefix(count); }

 private:
  std::string_view rest_;
};

bool IsJson(std::string_view text) {
  JsonScanner scanner;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto verdict = scanner.Feed(text[i]);
    if (verdict == JsonScanner::Verdict::kMore) continue;
    return verdict == JsonScanner::Verdict::kDone && i + 1 == text.size();
  }
  // Here only a number can be complete, and the scanner needs a character after it.
  return !text.empty() && scanner.Feed(' ') == JsonScanner::Verdict::kDoneBefore;
}

class ArgumentsWriter {
 public:
  void Add(std::string_view key, std::string_view value, bool is_string) {
    json_ += json_.empty() ? "{" : ", ";
    AppendJsonString(json_, key);
    json_ += ": ";
    if (is_string) {
      AppendJsonString(json_, value);
    } else {
      json_ += value;
    }
  }
  std::string Take() && { return json_.empty() ? "{}" : std::move(json_) + "}"; }

 private:
  std::string json_;
};

// If the markup does not say it: a string if the tool expects one, if it is not JSON, or if it is a
// JSON string (whose quotes then belong to it).
bool IsString(const Tools& tools, std::string_view name, std::string_view key,
              std::string_view value) {
  if (value.starts_with('"') || !IsJson(value)) return true;
  return tools.is_string && tools.is_string(name, key, value);
}

Result<TaggedCall> ReadGlm(std::string_view body, const Tools& tools) {
  const size_t first = std::min(body.find("<arg_key>"), body.size());
  TaggedCall call{.name = std::string(Trim(body.substr(0, first))), .arguments = ""};
  Cursor cursor(body.substr(first));
  ArgumentsWriter arguments;
  for (cursor.SkipSpace(); !cursor.at_end(); cursor.SkipSpace()) {
    if (!cursor.Take("<arg_key>")) return NoCall();
    const auto key = cursor.TakeUntil("</arg_key>");
    cursor.SkipSpace();
    if (!key || !cursor.Take("<arg_value>")) return NoCall();
    const auto value = cursor.TakeUntil("</arg_value>");
    if (!value) return NoCall();
    arguments.Add(Trim(*key), *value, IsString(tools, call.name, Trim(*key), *value));
  }
  call.arguments = std::move(arguments).Take();
  return call;
}

Result<TaggedCall> ReadQwenXml(std::string_view body, bool breaks_lines, const Tools& tools) {
  Cursor cursor(body);
  cursor.SkipSpace();
  if (!cursor.Take("<function=")) return NoCall();
  const auto name = cursor.TakeUntil(">");
  if (!name) return NoCall();
  TaggedCall call{.name = std::string(*name), .arguments = ""};
  ArgumentsWriter arguments;
  for (cursor.SkipSpace(); !cursor.Take("</function>"); cursor.SkipSpace()) {
    if (!cursor.Take("<parameter=")) return NoCall();
    const auto key = cursor.TakeUntil(">");
    auto value = key ? cursor.TakeUntil("</parameter>") : std::nullopt;
    if (!value) return NoCall();
    // One line break on either side belongs to the tags.
    if (breaks_lines && value->starts_with('\n')) value->remove_prefix(1);
    if (breaks_lines && value->ends_with('\n')) value->remove_suffix(1);
    arguments.Add(*key, *value, IsString(tools, call.name, *key, *value));
  }
  cursor.SkipSpace();
  if (!cursor.at_end()) return NoCall();
  call.arguments = std::move(arguments).Take();
  return call;
}

Result<TaggedCall> ReadDsml(std::string_view body, bool has_spaces) {
  const std::string_view open =
      has_spaces ? "<｜DSML｜ parameter name=\"" : "<｜DSML｜parameter name=\"";
  const std::string_view close = has_spaces ? "</｜DSML｜ parameter>" : "</｜DSML｜parameter>";
  Cursor cursor(body);
  // The call's opening ended at `name="`.
  const auto name = cursor.TakeUntil("\">");
  if (!name) return NoCall();
  TaggedCall call{.name = std::string(*name), .arguments = ""};
  ArgumentsWriter arguments;
  for (cursor.SkipSpace(); !cursor.at_end(); cursor.SkipSpace()) {
    if (!cursor.Take(open)) return NoCall();
    const auto key = cursor.TakeUntil("\"");
    cursor.SkipSpace();
    const auto kind = key && cursor.Take("string=\"") ? cursor.TakeUntil("\">") : std::nullopt;
    const auto value = kind ? cursor.TakeUntil(close) : std::nullopt;
    if (!value) return NoCall();
    const bool is_string = *kind == "true" || !IsJson(*value);
    arguments.Add(*key, *value, is_string);
  }
  call.arguments = std::move(arguments).Take();
  return call;
}

Result<TaggedCall> ReadMiniMax(std::string_view body, const Tools& tools) {
  Cursor cursor(body);
  // The call's opening ended at `name="`.
  const auto name = cursor.TakeUntil("\">");
  if (!name) return NoCall();
  TaggedCall call{.name = std::string(*name), .arguments = ""};
  ArgumentsWriter arguments;
  for (cursor.SkipSpace(); !cursor.at_end(); cursor.SkipSpace()) {
    if (!cursor.Take("<parameter name=\"")) return NoCall();
    const auto key = cursor.TakeUntil("\">");
    const auto value = key ? cursor.TakeUntil("</parameter>") : std::nullopt;
    if (!value) return NoCall();
    arguments.Add(*key, *value, IsString(tools, call.name, *key, *value));
  }
  call.arguments = std::move(arguments).Take();
  return call;
}

// Converts Gemma 4's values to JSON. Texts are between marks, and names of members are plain or
// between the same marks.
class GemmaValues {
 public:
  explicit GemmaValues(Cursor& cursor) : cursor_(cursor) {}

  // After the brace that opens an object.
  Status Members(std::string& json, int depth) {
    json += '{';
    for (bool first = true; !SkipTo("}"); first = false) {
      if (!first && !Take(",")) return NoCall();
      if (!first) json += ", ";
      AppendJsonString(json, TRY(Key()));
      json += ": ";
      TRY(Value(json, depth));
    }
    json += '}';
    return Ok();
  }

 private:
  static constexpr std::string_view kQuote = "<|\"|>";
  static constexpr int kDeepest = 64;

  bool SkipTo(std::string_view literal) {
    cursor_.SkipSpace();
    return cursor_.Take(literal);
  }
  bool Take(std::string_view literal) { return SkipTo(literal); }

  Result<std::string_view> Quoted() {
    const auto text = cursor_.TakeUntil(kQuote);
    if (!text) return NoCall();
    return *text;
  }
  Result<std::string_view> Key() {
    if (SkipTo(kQuote)) {
      const std::string_view key = TRY(Quoted());
      if (!Take(":")) return NoCall();
      return key;
    }
    const auto key = cursor_.TakeUntil(":");
    if (!key || Trim(*key).empty()) return NoCall();
    return Trim(*key);
  }
  Status Value(std::string& json, int depth) {
    if (depth > kDeepest) return NoCall();
    if (SkipTo(kQuote)) {
      AppendJsonString(json, TRY(Quoted()));
      return Ok();
    }
    if (Take("{")) return Members(json, depth + 1);
    if (Take("[")) return Items(json, depth + 1);
    // A number, true, false or null; anything else is a text without its marks.
    const size_t end = std::min(cursor_.rest().find_first_of(",}]"), cursor_.rest().size());
    const std::string_view plain = Trim(cursor_.rest().substr(0, end));
    if (plain.empty()) return NoCall();
    if (IsJson(plain)) {
      json += plain;
    } else {
      AppendJsonString(json, plain);
    }
    cursor_.Drop(end);
    return Ok();
  }
  Status Items(std::string& json, int depth) {
    json += '[';
    for (bool first = true; !SkipTo("]"); first = false) {
      if (!first && !Take(",")) return NoCall();
      if (!first) json += ", ";
      TRY(Value(json, depth));
    }
    json += ']';
    return Ok();
  }

  Cursor& cursor_;
};

Result<TaggedCall> ReadGemma(std::string_view body) {
  Cursor cursor(body);
  cursor.SkipSpace();
  const auto name = cursor.Take("call:") ? cursor.TakeUntil("{") : std::nullopt;
  if (!name) return NoCall();
  TaggedCall call{.name = std::string(Trim(*name)), .arguments = ""};
  TRY(GemmaValues(cursor).Members(call.arguments, 0));
  cursor.SkipSpace();
  if (!cursor.at_end()) return NoCall();
  return call;
}

Result<TaggedCall> ReadAny(Family family, std::string_view body, const Tools& tools) {
  switch (family) {
    case Family::kDsml32:
    case Family::kDsml:
    case Family::kDsml41:
      return ReadDsml(body, /*has_spaces=*/family == Family::kDsml41);
    case Family::kGlm:
      return ReadGlm(body, tools);
    case Family::kMiniMax:
      return ReadMiniMax(body, tools);
    case Family::kGemma:
      return ReadGemma(body);
    default:
      return ReadQwenXml(body, family != Family::kMimo, tools);
  }
}

}  // namespace

std::string_view TaggedCallClose(Family family) {
  switch (family) {
    case Family::kMiniMax:
      return "</invoke>";
    case Family::kGemma:
      return "<tool_call|>";
    case Family::kDsml32:
    case Family::kDsml:
      return "</｜DSML｜invoke>";
    case Family::kDsml41:
      return "</｜DSML｜ invoke>";
    default:
      return "</tool_call>";
  }
}

Result<TaggedCall> ReadTaggedCall(Family family, std::string_view body, const Tools& tools) {
  TaggedCall call = TRY(ReadAny(family, body, tools));
  if (call.name.empty() || call.name.find_first_of("<>\n") != std::string::npos) return NoCall();
  return call;
}

}  // namespace aster::chat
