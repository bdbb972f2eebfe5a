// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/access.h"

#include <fmt/format.h>

#include <algorithm>

#include "jinja/builtin.h"
#include "jinja/compare.h"
#include "jinja/iterate.h"
#include "jinja/methods.h"
#include "jinja/number_text.h"
#include "jinja/text.h"
#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

// The position of an index counted from either end, if it exists.
std::optional<size_t> PositionOf(int64_t index, size_t size) {
  const auto length = static_cast<int64_t>(size);
  if (index < 0) index += length;
  if (index < 0 || index >= length) return std::nullopt;
  return static_cast<size_t>(index);
}

// The item, or missing if Python would raise TypeError or LookupError.
Result<Value> OwnItemOf(Runtime& runtime, const Value& value, const Value& key) {
  if (value.Is(Kind::kDict)) {
    const Dict& dict = value.as<Dict>();
    if (!key.is_string() && !IsHashable(key)) return Value();
    const Value* item =
        key.is_string() ? dict.Find(key.text()) : dict.Find(TRY(KeyOf(runtime, key)));
    return item == nullptr ? Value() : *item;
  }
  if (!key.is_integral()) return Value();
  switch (value.kind()) {
    case Kind::kList:
    case Kind::kTuple: {
      const Values& items =
          value.Is(Kind::kList) ? value.as<List>().items : value.as<Tuple>().items;
      const std::optional<size_t> position = PositionOf(key.int_value(), items.size());
      return position ? items[*position] : Value();
    }
    case Kind::kRange: {
      const Range& range = value.as<Range>();
      const std::optional<size_t> position = PositionOf(key.int_value(), range.size());
      return position ? Value::Int(range.at(*position)) : Value();
    }
    case Kind::kString: {
      const String& string = value.as<String>();
      TRY(runtime.ChargeBytes(string.text.size()));
      const std::optional<size_t> position = PositionOf(key.int_value(), string.CodePoints());
      if (!position) return Value();
      if (string.is_ascii()) {
        return Value(runtime.NewString(string.text.substr(*position, 1)));
      }
      const size_t begin = OffsetOfCodePoint(string.text, *position);
      size_t end = begin;
      DecodeNext(string.text, end);
      return Value(runtime.NewString(string.text.substr(begin, end - begin)));
    }
    default:
      return Value();
  }
}

struct SliceBounds {
  int64_t start;
  int64_t stop;
  int64_t step;
  size_t count;
};

Result<std::optional<int64_t>> BoundOf(const Value& value) {
  if (value.is_missing() || value.is_none()) return std::optional<int64_t>();
  if (!value.is_integral()) {
    return TemplateError("slice indices must be integers or None or have an __index__ method");
  }
  return std::optional<int64_t>(value.int_value());
}

Result<SliceBounds> BoundsOf(const Value& start, const Value& stop, const Value& step,
                             size_t size) {
  const auto length = static_cast<int64_t>(size);
  // Far above any length, but safe to compute with.
  constexpr int64_t kFar = int64_t{1} << 62;
  const int64_t by = std::clamp(TRY(BoundOf(step)).value_or(1), -kFar, kFar);
  if (by == 0) return TemplateError("slice step cannot be zero");
  const int64_t lowest = by > 0 ? 0 : -1;
  const int64_t highest = by > 0 ? length : length - 1;
  auto adjusted = [&](std::optional<int64_t> bound, int64_t fallback) {
    if (!bound) return fallback;
    int64_t position = std::clamp(*bound, -kFar, kFar);
    if (position < 0) position += length;
    return std::clamp(position, lowest, highest);
  };
  const int64_t from = adjusted(TRY(BoundOf(start)), by > 0 ? lowest : highest);
  const int64_t to = adjusted(TRY(BoundOf(stop)), by > 0 ? highest : lowest);
  const int64_t span = by > 0 ? to - from : from - to;
  const int64_t magnitude = by > 0 ? by : -by;
  const size_t count = span > 0 ? static_cast<size_t>((span - 1) / magnitude + 1) : 0;
  return SliceBounds{from, to, by, count};
}

Values SlicedItems(const Values& items, const SliceBounds& bounds) {
  Values sliced;
  sliced.reserve(bounds.count);
  for (size_t i = 0; i < bounds.count; ++i) {
    sliced.push_back(items[bounds.start + static_cast<int64_t>(i) * bounds.step]);
  }
  return sliced;
}

std::string SlicedText(const String& string, const SliceBounds& bounds) {
  if (bounds.count == 0) return {};
  const std::string& text = string.text;
  if (bounds.step == 1) {
    if (string.is_ascii()) return text.substr(bounds.start, bounds.count);
    const size_t begin = OffsetOfCodePoint(text, bounds.start);
    const size_t size = OffsetOfCodePoint(std::string_view(text).substr(begin), bounds.count);
    return text.substr(begin, size);
  }
  const std::u32string code_points = Decode(text);
  std::u32string sliced;
  for (size_t i = 0; i < bounds.count; ++i) {
    sliced += code_points[bounds.start + static_cast<int64_t>(i) * bounds.step];
  }
  return Encode(sliced);
}

bool IsAllDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Result<Value> OwnAttributeOf(Runtime& runtime, const Value& value, std::string_view name) {
  if (value.is_undefined()) return TemplateError(value.as<Undefined>().Message());
  if (value.Is(Kind::kNamespace)) {
    const Value* attribute = value.as<Namespace>().attributes->Find(name);
    if (attribute == nullptr) return Value();
    return name.starts_with('_') ? runtime.UnsafeAttribute(value, name) : *attribute;
  }
  if (value.Is(Kind::kLoop)) return value.special().Attribute(runtime, name);
  if (const Builtin* method = FindMethod(value.kind(), name)) {
    if (IsRefusedMutation(value.kind(), name) && !runtime.options().allow_mutation) {
      return runtime.UnsafeAttribute(value, name);
    }
    return Value(runtime.heap().New<Function>(*method, value));
  }
  return Value();
}

Result<Value> AttributeOf(Runtime& runtime, const Value& value, std::string_view name) {
  Value attribute = TRY(OwnAttributeOf(runtime, value, name));
  if (!attribute.is_missing()) return attribute;
  if (value.Is(Kind::kDict)) {
    if (const Value* item = value.as<Dict>().Find(name)) return *item;
  }
  return runtime.UndefinedAttribute(value, name);
}

Result<Value> ItemOf(Runtime& runtime, const Value& value, const Value& key) {
  if (value.is_undefined()) return TemplateError(value.as<Undefined>().Message());
  Value item = TRY(OwnItemOf(runtime, value, key));
  if (!item.is_missing()) return item;
  if (!key.is_string()) {
    return runtime.UndefinedElement(value, TRY(ReprOf(runtime, key)));
  }
  Value attribute = TRY(OwnAttributeOf(runtime, value, key.text()));
  return attribute.is_missing() ? runtime.UndefinedAttribute(value, key.text()) : attribute;
}

Result<Value> SliceOf(Runtime& runtime, const Value& value, const Value& start, const Value& stop,
                      const Value& step) {
  if (value.is_undefined()) return TemplateError(value.as<Undefined>().Message());
  switch (value.kind()) {
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
      break;
    case Kind::kDict:
      return TemplateError("unhashable type: 'slice'");
    default:
      return TemplateError(fmt::format("'{}' object is not subscriptable", TypeName(value)));
  }
  const size_t size = TRY(LengthOf(value));
  const SliceBounds bounds = TRY(BoundsOf(start, stop, step, size));
  TRY(runtime.ChargeBytes(size));
  if (value.is_string()) {
    const String& string = value.as<String>();
    return Value(runtime.NewString(SlicedText(string, bounds)));
  }
  if (value.Is(Kind::kList)) {
    return Value(runtime.NewList(SlicedItems(value.as<List>().items, bounds)));
  }
  return Value(runtime.NewTuple(SlicedItems(value.as<Tuple>().items, bounds)));
}

AttributePath AttributePath::FromText(Runtime& runtime, std::string_view text) {
  AttributePath path;
  for (;;) {
    const size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    const std::optional<Value> index = IsAllDigits(part) ? ParseInt(runtime, part) : std::nullopt;
    path.parts_.push_back(index ? *index : Value(runtime.NewString(std::string(part))));
    if (dot == std::string_view::npos) return path;
    text.remove_prefix(dot + 1);
  }
}

Result<AttributePath> AttributePath::From(Runtime& runtime, const Value& attribute) {
  if (attribute.is_string()) return FromText(runtime, attribute.text());
  AttributePath path;
  if (!attribute.is_none() && !attribute.is_missing()) path.parts_.push_back(attribute);
  return path;
}

Result<Value> AttributePath::Get(Runtime& runtime, const Value& value,
                                 const Value& default_value) const {
  Value item = value;
  for (const Value& part : parts_) {
    item = TRY(ItemOf(runtime, item, part));
    if (item.is_undefined() && !default_value.is_missing()) item = default_value;
  }
  return item;
}

}  // namespace aster::jinja
