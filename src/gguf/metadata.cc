// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <numeric>
#include <type_traits>

#include "base/utf8.h"

namespace aster::gguf {
namespace {

constexpr size_t kArrayHeaderBytes = sizeof(uint32_t) + sizeof(uint64_t);  // element type, count

template <typename T>
inline constexpr bool kIsVector = false;
template <typename T>
inline constexpr bool kIsVector<std::vector<T>> = true;

template <typename T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

// Any whole number of a file.
struct WholeNumber {
  bool negative = false;
  uint64_t bits = 0;  // of the int64_t if negative
};

template <Integer T>
WholeNumber Widened(T value) {
  return {.negative = value < 0, .bits = static_cast<uint64_t>(value)};
}

std::optional<WholeNumber> ReadWholeNumber(ValueType type, const uint8_t* data) {
  switch (type) {
    case ValueType::kUint8:
      return Widened(LoadUnaligned<uint8_t>(data));
    case ValueType::kInt8:
      return Widened(LoadUnaligned<int8_t>(data));
    case ValueType::kUint16:
      return Widened(LoadUnaligned<uint16_t>(data));
    case ValueType::kInt16:
      return Widened(LoadUnaligned<int16_t>(data));
    case ValueType::kUint32:
      return Widened(LoadUnaligned<uint32_t>(data));
    case ValueType::kInt32:
      return Widened(LoadUnaligned<int32_t>(data));
    case ValueType::kUint64:
      return Widened(LoadUnaligned<uint64_t>(data));
    case ValueType::kInt64:
      return Widened(LoadUnaligned<int64_t>(data));
    default:
      return std::nullopt;
  }
}

template <Integer T>
std::optional<T> Narrowed(WholeNumber number) {
  if (number.negative) {
    const auto value = static_cast<int64_t>(number.bits);
    return std::in_range<T>(value) ? std::optional<T>(static_cast<T>(value)) : std::nullopt;
  }
  return std::in_range<T>(number.bits) ? std::optional<T>(static_cast<T>(number.bits))
                                       : std::nullopt;
}

// The name of T in an error.
template <typename T>
std::string Wanted() {
  if constexpr (std::same_as<T, bool>) {
    return "true or false";
  } else if constexpr (Integer<T>) {
    return fmt::format("a whole number from {} to {}", std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::max());
  } else if constexpr (std::floating_point<T>) {
    return "a number";
  } else {
    return "a string";
  }
}

// The fixed-size value of the given type at `data` as T, if it can be one.
template <typename T>
std::optional<T> ReadFixed(ValueType type, const uint8_t* data) {
  const std::optional<WholeNumber> whole = ReadWholeNumber(type, data);
  if constexpr (std::same_as<T, bool>) {
    if (type == ValueType::kBool) return *data != 0;
    if (whole && !whole->negative && whole->bits <= 1) return whole->bits == 1;
    return std::nullopt;
  } else if constexpr (Integer<T>) {
    return whole ? Narrowed<T>(*whole) : std::nullopt;
  } else {
    if (type == ValueType::kFloat32) return static_cast<T>(LoadUnaligned<float>(data));
    if (type == ValueType::kFloat64) {
      const auto value = LoadUnaligned<double>(data);
      const bool fits = !std::isfinite(value) || std::abs(value) <= std::numeric_limits<T>::max();
      return fits ? std::optional<T>(static_cast<T>(value)) : std::nullopt;
    }
    if (!whole) return std::nullopt;
    return whole->negative ? static_cast<T>(static_cast<int64_t>(whole->bits))
                           : static_cast<T>(whole->bits);
  }
}

Array ArrayOf(std::string_view key, Bytes payload) {
  return {key, LoadUnaligned<ValueType>(payload.data()),
          LoadUnaligned<uint64_t>(payload.data() + sizeof(uint32_t)),
          payload.subspan(kArrayHeaderBytes)};
}

// The bytes of a value as an element of an array; the parser has checked that they exist.
uint64_t ElementBytes(ValueType type, const uint8_t* data) {
  if (type == ValueType::kString) return sizeof(uint64_t) + LoadUnaligned<uint64_t>(data);
  if (type != ValueType::kArray) return FixedValueBytes(type);
  const auto element_type = LoadUnaligned<ValueType>(data);
  const auto count = LoadUnaligned<uint64_t>(data + sizeof(uint32_t));
  const uint32_t fixed = FixedValueBytes(element_type);
  if (fixed != 0) return kArrayHeaderBytes + count * fixed;
  uint64_t bytes = kArrayHeaderBytes;
  for (uint64_t i = 0; i < count; ++i) bytes += ElementBytes(element_type, data + bytes);
  return bytes;
}

std::string ShortText(const Value& value, size_t max_elements, size_t max_bytes);

std::string ArrayText(const Array& array, size_t max_elements, size_t max_bytes) {
  std::string text = "[";
  for (const Value& element : array.First(max_elements)) {
    if (text.size() > 1) text += ", ";
    text += ShortText(element, max_elements / 2, max_bytes);
  }
  if (array.size() > max_elements) text += max_elements == 0 ? "..." : ", ...";
  return text + "]";
}

std::string_view CutAtCharacter(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

std::string StringText(std::string_view text, size_t max_bytes) {
  const std::string_view shown = CutAtCharacter(text, max_bytes);
  std::string quoted;
  for (const char c : shown) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return fmt::format("\"{}{}\"", ForDisplay(quoted), shown.size() < text.size() ? "..." : "");
}

std::string ShortText(const Value& value, size_t max_elements, size_t max_bytes) {
  const uint8_t* data = value.payload().data();
  switch (value.type()) {
    case ValueType::kBool:
      return *data != 0 ? "true" : "false";
    case ValueType::kFloat32:
      return fmt::format("{}", LoadUnaligned<float>(data));
    case ValueType::kFloat64:
      return fmt::format("{}", LoadUnaligned<double>(data));
    case ValueType::kString:
      return StringText(AsText(value.payload()), max_bytes);
    case ValueType::kArray:
      return ArrayText(ArrayOf(value.key(), value.payload()), max_elements, max_bytes);
    default: {
      const WholeNumber number = ReadWholeNumber(value.type(), data).value_or(WholeNumber());
      return number.negative ? fmt::format("{}", static_cast<int64_t>(number.bits))
                             : fmt::format("{}", number.bits);
    }
  }
}

}  // namespace

std::string Value::TypeText() const {
  if (type_ != ValueType::kArray) return ValueTypeName(type_);
  const Array array = ArrayOf(key_, payload_);
  return fmt::format("{}[{}]", ValueTypeName(array.element_type()), array.size());
}

template <typename T>
Result<T> Value::As() const {
  if constexpr (std::same_as<T, Array>) {
    if (type_ == ValueType::kArray) return ArrayOf(key_, payload_);
    return InvalidArgument(
        fmt::format("the key {} holds a {}; an array is needed", NameText(key_), TypeText()));
  } else if constexpr (kIsVector<T>) {
    return TRY(As<Array>()).template ToVector<typename T::value_type>();
  } else if constexpr (std::same_as<T, std::string_view> || std::same_as<T, std::string>) {
    if (type_ == ValueType::kString) return T(AsText(payload_));
  } else {
    if (FixedValueBytes(type_) != 0) {
      if (const std::optional<T> value = ReadFixed<T>(type_, payload_.data())) return *value;
    }
  }
  if constexpr (!std::same_as<T, Array> && !kIsVector<T>) {
    return InvalidArgument(fmt::format("the key {} holds {} ({}); {} is needed", NameText(key_),
                                       gguf::ToText(*this), TypeText(), Wanted<T>()));
  }
}

Result<StringRange> Array::Strings() const {
  if (element_type_ == ValueType::kString) return StringRange(elements_);
  return InvalidArgument(fmt::format("the key {} holds an array of {}; one of strings is needed",
                                     NameText(key_), ValueTypeName(element_type_)));
}

template <typename T>
Result<std::vector<T>> Array::ToVector() const {
  std::vector<T> values;
  values.reserve(size_);  // the file has size_ elements
  if constexpr (std::same_as<T, std::string_view> || std::same_as<T, std::string>) {
    for (const std::string_view text : TRY(Strings())) values.emplace_back(text);
  } else {
    const uint32_t element_bytes = FixedValueBytes(element_type_);
    for (uint64_t i = 0; i < size_; ++i) {
      const std::optional<T> value =
          element_bytes == 0 ? std::nullopt
                             : ReadFixed<T>(element_type_, elements_.data() + i * element_bytes);
      if (!value) {
        return InvalidArgument(fmt::format("element {} of the key {} (an array of {}) is not {}", i,
                                           NameText(key_), ValueTypeName(element_type_),
                                           Wanted<T>()));
      }
      values.push_back(*value);
    }
  }
  return values;
}

std::vector<Value> Array::First(uint64_t count) const {
  std::vector<Value> values;
  Bytes rest = elements_;
  for (uint64_t i = 0; i < std::min(count, size_); ++i) {
    const uint64_t bytes = ElementBytes(element_type_, rest.data());
    const size_t length_bytes = element_type_ == ValueType::kString ? sizeof(uint64_t) : 0;
    values.emplace_back(key_, element_type_, rest.subspan(length_bytes, bytes - length_bytes));
    rest = rest.subspan(bytes);
  }
  return values;
}

Result<Metadata> Metadata::Of(std::vector<Value> values) {
  Metadata metadata;
  metadata.values_ = std::move(values);
  metadata.by_key_.resize(metadata.values_.size());
  std::iota(metadata.by_key_.begin(), metadata.by_key_.end(), size_t{0});
  const auto key_of = [&](size_t index) { return metadata.values_[index].key(); };
  std::sort(metadata.by_key_.begin(), metadata.by_key_.end(),
            [&](size_t a, size_t b) { return key_of(a) < key_of(b); });
  const auto twin = std::adjacent_find(metadata.by_key_.begin(), metadata.by_key_.end(),
                                       [&](size_t a, size_t b) { return key_of(a) == key_of(b); });
  if (twin != metadata.by_key_.end()) {
    return DataLoss(fmt::format("the key {} is there twice", NameText(key_of(*twin))));
  }
  return metadata;
}

const Value* Metadata::Find(std::string_view key) const {
  const auto found =
      std::lower_bound(by_key_.begin(), by_key_.end(), key,
                       [&](size_t index, std::string_view k) { return values_[index].key() < k; });
  if (found == by_key_.end() || values_[*found].key() != key) return nullptr;
  return &values_[*found];
}

Error Metadata::Missing(std::string_view key) {
  return NotFound(fmt::format("the key {} is missing", NameText(key)));
}

template <typename T>
Result<std::vector<T>> Metadata::GetPerLayer(std::string_view key, size_t count) const {
  const Value* value = Find(key);
  if (value == nullptr) return Missing(key);
  if (value->type() != ValueType::kArray) return std::vector<T>(count, TRY(value->As<T>()));
  const Array array = TRY(value->As<Array>());
  if (array.size() != count) {
    return InvalidArgument(
        fmt::format("the key {} holds {} values; one for each of {} layers is needed",
                    NameText(key), array.size(), count));
  }
  return array.ToVector<T>();
}

std::string NameText(std::string_view name) {
  constexpr size_t kMaxShownBytes = 120;
  const std::string_view shown = CutAtCharacter(name, kMaxShownBytes);
  return ForDisplay(shown) + (shown.size() < name.size() ? "..." : "");
}

std::string ToText(const Value& value, size_t max_elements, size_t max_bytes) {
  return ShortText(value, max_elements, max_bytes);
}

#define ASTER_INSTANTIATE(T)                                         \
  template Result<T> Value::As<T>() const;                           \
  template Result<std::vector<T>> Value::As<std::vector<T>>() const; \
  template Result<std::vector<T>> Array::ToVector<T>() const;

#define ASTER_INSTANTIATE_NUMBER(T) \
  ASTER_INSTANTIATE(T)              \
  template Result<std::vector<T>> Metadata::GetPerLayer<T>(std::string_view, size_t) const;

ASTER_INSTANTIATE(std::string_view)
ASTER_INSTANTIATE(std::string)
ASTER_INSTANTIATE_NUMBER(bool)
ASTER_INSTANTIATE_NUMBER(uint8_t)
ASTER_INSTANTIATE_NUMBER(int8_t)
ASTER_INSTANTIATE_NUMBER(uint16_t)
ASTER_INSTANTIATE_NUMBER(int16_t)
ASTER_INSTANTIATE_NUMBER(uint32_t)
ASTER_INSTANTIATE_NUMBER(int32_t)
ASTER_INSTANTIATE_NUMBER(uint64_t)
ASTER_INSTANTIATE_NUMBER(int64_t)
ASTER_INSTANTIATE_NUMBER(float)
ASTER_INSTANTIATE_NUMBER(double)
template Result<Array> Value::As<Array>() const;

#undef ASTER_INSTANTIATE_NUMBER
#undef ASTER_INSTANTIATE

}  // namespace aster::gguf
