// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstring>

#include "jinja/iterate.h"
#include "jinja/text_search.h"

namespace aster::jinja {
namespace {

// Exact, although not every int is a float.
std::partial_ordering CompareIntWithFloat(int64_t a, double b) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= kTwoTo63) return std::partial_ordering::less;
  if (b < -kTwoTo63) return std::partial_ordering::greater;
  const double whole = std::trunc(b);
  const auto whole_int = static_cast<int64_t>(whole);
  if (a != whole_int) return a <=> whole_int;
  return 0.0 <=> b - whole;
}

std::partial_ordering CompareNumbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return a.int_value() <=> b.int_value();
  if (a.is_integral()) return CompareIntWithFloat(a.int_value(), b.float_value());
  if (b.is_integral()) return 0 <=> CompareIntWithFloat(b.int_value(), a.float_value());
  return a.float_value() <=> b.float_value();
}

const Values& ItemsOfSequence(const Value& value) {
  return value.Is(Kind::kList) ? value.as<List>().items : value.as<Tuple>().items;
}

Result<bool> EqualItems(Runtime& runtime, const Values& a, const Values& b) {
  if (a.size() != b.size()) return false;
  // By index: comparing two items cannot change the lists, but checking sizes costs nothing.
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (!TRY(Equal(runtime, a[i], b[i]))) return false;
  }
  return true;
}

Result<bool> EqualDicts(Runtime& runtime, const Dict& a, const Dict& b) {
  if (a.size() != b.size()) return false;
  for (const Dict::Entry& entry : a.entries()) {
    const Value* other = b.Find(entry.tag, entry.bytes());
    if (other == nullptr || !TRY(Equal(runtime, entry.value, *other))) return false;
  }
  return true;
}

Result<bool> EqualRanges(const Range& a, const Range& b) {
  if (a.size() != b.size()) return false;
  if (a.size() == 0) return true;
  return a.start == b.start && (a.size() == 1 || a.step == b.step);
}

std::string_view SignOf(Order order) {
  switch (order) {
    case Order::kLess:
      return "<";
    case Order::kLessOrEqual:
      return "<=";
    case Order::kGreater:
      return ">";
    case Order::kGreaterOrEqual:
      return ">=";
  }
  return "";
}

bool Holds(Order order, std::partial_ordering actual) {
  switch (order) {
    case Order::kLess:
      return actual < 0;
    case Order::kLessOrEqual:
      return actual <= 0;
    case Order::kGreater:
      return actual > 0;
    case Order::kGreaterOrEqual:
      return actual >= 0;
  }
  return false;
}

Result<bool> OrderedSequences(Runtime& runtime, Order order, const Values& a, const Values& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (!TRY(Equal(runtime, a[i], b[i]))) return Ordered(runtime, order, a[i], b[i]);
  }
  return Holds(order, a.size() <=> b.size());
}

Result<bool> RangeContains(const Range& range, const Value& item) {
  if (!item.is_number()) return false;
  if (item.Is(Kind::kFloat) && item.float_value() != std::trunc(item.float_value())) return false;
  if (item.Is(Kind::kFloat) && std::abs(item.float_value()) > 9e15) return false;
  const int64_t value =
      item.Is(Kind::kFloat) ? static_cast<int64_t>(item.float_value()) : item.int_value();
  const __int128 offset = static_cast<__int128>(value) - range.start;
  if (offset % range.step != 0) return false;
  const __int128 index = offset / range.step;
  return index >= 0 && index < static_cast<__int128>(range.size());
}

Result<bool> ContainsByIteration(Runtime& runtime, const Value& container, const Value& item) {
  const Ref<Iterator> iterator = TRY(Iterate(runtime, container));
  for (;;) {
    const Value candidate = TRY(iterator->Next(runtime));
    if (candidate.is_missing()) return false;
    TRY(runtime.Charge());
    if (TRY(Equal(runtime, candidate, item))) return true;
  }
}

Result<bool> DictContains(Runtime& runtime, const Dict& dict, const Value& item) {
  if (item.is_string()) return dict.Find(item.text()) != nullptr;
  return dict.Find(TRY(KeyOf(runtime, item))) != nullptr;
}

template <typename T>
std::string BytesOf(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

DictKey KeyOfFloat(double value) {
  constexpr double kExactlyInt = 9007199254740992.0;
  if (value == std::trunc(value) && std::abs(value) <= kExactlyInt) {
    return {'i', {}, BytesOf(static_cast<int64_t>(value))};
  }
  return {'f', {}, BytesOf(value)};
}

Result<DictKey> KeyOfTuple(Runtime& runtime, const Tuple& tuple) {
  const Deeper deeper(runtime);
  TRY(deeper.Check());
  TextBuilder builder(runtime);
  for (const Value& item : tuple.items) {
    const DictKey key = TRY(KeyOf(runtime, item));
    builder.Append(key.tag);
    builder.Append(BytesOf(key.bytes().size()));
    builder.Append(key.bytes());
  }
  return DictKey{'t', {}, TRY(builder.Take())};
}

}  // namespace

bool IsTrue(const Value& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kNone:
    case Kind::kUndefined:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return value.int_value() != 0;
    case Kind::kFloat:
      return value.float_value() != 0;
    case Kind::kString:
      return !value.text().empty();
    case Kind::kList:
    case Kind::kTuple:
      return !ItemsOfSequence(value).empty();
    case Kind::kDict:
      return value.as<Dict>().size() != 0;
    case Kind::kDictView:
      return value.as<DictView>().dict->size() != 0;
    case Kind::kRange:
      return value.as<Range>().size() != 0;
    default:
      return true;
  }
}

Result<bool> Equal(Runtime& runtime, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return CompareNumbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  if (a.is_string()) {
    if (a.object() == b.object()) return true;
    if (a.text().size() != b.text().size()) return false;
    TRY(runtime.ChargeBytes(a.text().size()));
    return a.text() == b.text();
  }
  if (a.is_none() || a.is_undefined() || a.object() == b.object()) return true;
  const Deeper deeper(runtime);
  TRY(deeper.Check());
  switch (a.kind()) {
    case Kind::kBigInt:
      return a.as<BigInt>().digits == b.as<BigInt>().digits;
    case Kind::kList:
    case Kind::kTuple:
      return EqualItems(runtime, ItemsOfSequence(a), ItemsOfSequence(b));
    case Kind::kDict:
      return EqualDicts(runtime, a.as<Dict>(), b.as<Dict>());
    case Kind::kRange:
      return EqualRanges(a.as<Range>(), b.as<Range>());
    case Kind::kDictView: {
      const DictView& view = a.as<DictView>();
      const DictView& other = b.as<DictView>();
      if (view.part != other.part || view.part == DictView::Part::kValues) return false;
      if (view.part == DictView::Part::kItems) return EqualDicts(runtime, *view.dict, *other.dict);
      if (view.dict->size() != other.dict->size()) return false;
      return std::ranges::all_of(view.dict->entries(), [&](const Dict::Entry& entry) {
        return other.dict->Find(entry.tag, entry.bytes()) != nullptr;
      });
    }
    default:
      return false;
  }
}

bool Identical(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kMissing:
    case Kind::kNone:
      return true;
    case Kind::kBool:
    case Kind::kInt:
      return a.int_value() == b.int_value();
    case Kind::kFloat:
      return a.float_value() == b.float_value();
    case Kind::kString:
      return a.text() == b.text();
    default:
      return a.object() == b.object();
  }
}

Result<bool> Ordered(Runtime& runtime, Order order, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return Holds(order, CompareNumbers(a, b));
  if (a.is_undefined()) return TemplateError(a.as<Undefined>().Message());
  if (b.is_undefined()) return TemplateError(b.as<Undefined>().Message());
  if (a.is_string() && b.is_string()) {
    TRY(runtime.ChargeBytes(std::min(a.text().size(), b.text().size())));
    // The order of UTF-8 is the order of code points.
    return Holds(order, a.text() <=> b.text());
  }
  if (a.is_sequence() && a.kind() == b.kind()) {
    const Deeper deeper(runtime);
    TRY(deeper.Check());
    return OrderedSequences(runtime, order, ItemsOfSequence(a), ItemsOfSequence(b));
  }
  return TemplateError(fmt::format("'{}' not supported between instances of '{}' and '{}'",
                                   SignOf(order), TypeName(a), TypeName(b)));
}

Result<bool> Contains(Runtime& runtime, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::kString:
      if (item.is_undefined()) return TemplateError(item.as<Undefined>().Message());
      if (!item.is_string()) {
        return TemplateError(
            fmt::format("'in <string>' requires string as left operand, not {}", TypeName(item)));
      }
      TRY(runtime.ChargeBytes(container.text().size() + item.text().size()));
      return FindFirst(container.text(), item.text()) != std::string_view::npos;
    case Kind::kDict:
      return DictContains(runtime, container.as<Dict>(), item);
    case Kind::kDictView:
      if (const DictView& view = container.as<DictView>(); view.part == DictView::Part::kKeys) {
        return DictContains(runtime, *view.dict, item);
      }
      return ContainsByIteration(runtime, container, item);
    case Kind::kRange:
      return RangeContains(container.as<Range>(), item);
    default:
      if (IsIterable(container)) return ContainsByIteration(runtime, container, item);
      return TemplateError(
          fmt::format("argument of type '{}' is not iterable", TypeName(container)));
  }
}

bool IsHashable(const Value& key) {
  if (key.Is(Kind::kList) || key.Is(Kind::kDict)) return false;
  if (key.Is(Kind::kDictView)) return key.as<DictView>().part == DictView::Part::kValues;
  return true;
}

Result<DictKey> KeyOf(Runtime& runtime, const Value& key) {
  DictKey encoded;
  switch (key.kind()) {
    case Kind::kString:
      return DictKey{'s', key.text(), {}};
    case Kind::kNone:
      return DictKey{'N', {}, {}};
    case Kind::kUndefined:
      return DictKey{'u', {}, {}};
    case Kind::kBool:
    case Kind::kInt:
      encoded = {'i', {}, BytesOf(key.int_value())};
      break;
    case Kind::kFloat:
      encoded = KeyOfFloat(key.float_value());
      break;
    case Kind::kBigInt:
      encoded = {'b', {}, key.as<BigInt>().digits};
      break;
    case Kind::kTuple:
      encoded = TRY(KeyOfTuple(runtime, key.as<Tuple>()));
      break;
    default:
      if (!IsHashable(key)) {
        return TemplateError(fmt::format("unhashable type: '{}'", TypeName(key)));
      }
      encoded = {'o', {}, BytesOf(key.object())};
      break;
  }
  return encoded;
}

}  // namespace aster::jinja
