// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_string.h"
#include "jinja/json.h"
#include "jinja/sort.h"
#include "jinja/text.h"

namespace aster::jinja {
namespace {

std::string FloatText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return ReprOfFloat(value);
}

class JsonWriter {
 public:
  JsonWriter(Runtime& runtime, const JsonStyle& style)
      : runtime_(runtime), style_(style), builder_(runtime) {}

  Status Write(const Value& value) {
    switch (value.kind()) {
      case Kind::kString:
        TRY(runtime_.CheckBytes(value.text().size()));
        AppendQuoted(value.text());
        return Ok();
      case Kind::kNone:
        builder_.Append("null");
        return Ok();
      case Kind::kBool:
        builder_.Append(value.bool_value() ? "true" : "false");
        return Ok();
      case Kind::kInt:
      case Kind::kBigInt:
        return AppendRepr(runtime_, builder_, value);
      case Kind::kFloat:
        builder_.Append(FloatText(value.float_value()));
        return Ok();
      case Kind::kList:
        return WriteItems(value.as<List>().items);
      case Kind::kTuple:
        return WriteItems(value.as<Tuple>().items);
      case Kind::kDict:
        return WriteDict(value.as<Dict>());
      default:
        return TemplateError(
            fmt::format("Object of type {} is not JSON serializable", TypeName(value)));
    }
  }

  Result<std::string> Take() { return builder_.Take(); }

 private:
  void AppendQuoted(std::string_view text) {
    std::string quoted;
    AppendJsonString(quoted, text, style_.ensure_ascii ? JsonCharset::kAscii : JsonCharset::kUtf8);
    builder_.Append(quoted);
  }

  void NewLine() {
    if (!style_.indent) return;
    builder_.Append('\n');
    for (size_t i = 0; i < level_; ++i) builder_.Append(*style_.indent);
  }

  Status WriteItems(const Values& items) {
    const Deeper deeper(runtime_);
    TRY(deeper.Check());
    if (items.empty()) {
      builder_.Append("[]");
      return Ok();
    }
    builder_.Append('[');
    ++level_;
    for (size_t i = 0; i < items.size() && !builder_.overflowed(); ++i) {
      if (i > 0) builder_.Append(style_.item_separator);
      NewLine();
      TRY(runtime_.Charge());
      TRY(Write(items[i]));
    }
    --level_;
    NewLine();
    builder_.Append(']');
    return Ok();
  }

  Status WriteDict(const Dict& dict) {
    const Deeper deeper(runtime_);
    TRY(deeper.Check());
    if (dict.size() == 0) {
      builder_.Append("{}");
      return Ok();
    }
    std::vector<Keyed> entries;
    entries.reserve(dict.size());
    for (const Dict::Entry& entry : dict.entries()) entries.push_back({entry.key, entry.value});
    if (style_.sort_keys) TRY(SortByKey(runtime_, entries, false));
    builder_.Append('{');
    ++level_;
    for (size_t i = 0; i < entries.size() && !builder_.overflowed(); ++i) {
      if (i > 0) builder_.Append(style_.item_separator);
      NewLine();
      TRY(runtime_.Charge());
      AppendQuoted(TRY(KeyText(entries[i].key)));
      builder_.Append(style_.key_separator);
      TRY(Write(entries[i].item));
    }
    --level_;
    NewLine();
    builder_.Append('}');
    return Ok();
  }

  Result<std::string> KeyText(const Value& key) {
    switch (key.kind()) {
      case Kind::kString:
        return std::string(key.text());
      case Kind::kNone:
        return std::string("null");
      case Kind::kBool:
        return std::string(key.bool_value() ? "true" : "false");
      case Kind::kInt:
      case Kind::kBigInt:
        return ReprOf(runtime_, key);
      case Kind::kFloat:
        return FloatText(key.float_value());
      default:
        return TemplateError(
            fmt::format("keys must be str, int, float, bool or None, not {}", TypeName(key)));
    }
  }

  Runtime& runtime_;
  const JsonStyle& style_;
  TextBuilder builder_;
  size_t level_ = 0;
};

}  // namespace

Result<std::string> ToJson(Runtime& runtime, const Value& value, const JsonStyle& style) {
  JsonWriter writer(runtime, style);
  TRY(writer.Write(value));
  return writer.Take();
}

}  // namespace aster::jinja
