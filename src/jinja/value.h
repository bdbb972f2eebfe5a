// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The values of a template: Python's, as far as templates use them. Small ones are stored directly,
// the rest on the rendering's heap and shared by reference, as in Python. Must not know operations
// on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "jinja/heap.h"

namespace aster::jinja {

class Runtime;
class Special;

enum class Kind : uint8_t {
  kMissing,  // no value: a variable never set, an argument not given. Templates never see it.
  kNone,
  kBool,
  kInt,
  kFloat,
  // From here on, an object on the heap.
  kUndefined,
  kBigInt,
  kString,
  kList,
  kTuple,
  kDict,
  kDictView,
  kRange,
  kIterator,
  kNamespace,
  kFunction,
  kMacro,
  kLoop,
};

class Value {
 public:
  Value() : kind_(Kind::kMissing), int_(0) {}
  static Value None() { return Value(Kind::kNone, 0); }
  static Value Bool(bool value) { return Value(Kind::kBool, value ? 1 : 0); }
  static Value Int(int64_t value) { return Value(Kind::kInt, value); }
  static Value Float(double value) {
    Value result(Kind::kFloat, 0);
    result.float_ = value;
    return result;
  }
  template <typename T>
  Value(const Ref<T>& object)  // NOLINT(google-explicit-constructor)
      : kind_(T::kKind), object_(object.get()) {
    object_->AddReference();
  }

  Value(const Value& other) : kind_(other.kind_), int_(other.int_) {
    if (is_object()) object_->AddReference();
  }
  Value(Value&& other) noexcept : kind_(other.kind_), int_(other.int_) {
    other.kind_ = Kind::kMissing;
  }
  Value& operator=(Value other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(int_, other.int_);
    return *this;
  }
  ~Value() {
    if (is_object()) object_->RemoveReference();
  }

  Kind kind() const { return kind_; }
  bool Is(Kind kind) const { return kind_ == kind; }
  bool is_missing() const { return kind_ == Kind::kMissing; }
  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_undefined() const { return kind_ == Kind::kUndefined; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_object() const { return kind_ >= Kind::kUndefined; }
  // An int, or a bool, which counts as one in Python.
  bool is_integral() const { return kind_ == Kind::kInt || kind_ == Kind::kBool; }
  bool is_number() const { return is_integral() || kind_ == Kind::kFloat; }
  bool is_sequence() const { return kind_ == Kind::kList || kind_ == Kind::kTuple; }

  bool bool_value() const { return int_ != 0; }
  // Of an int or a bool.
  int64_t int_value() const { return int_; }
  double float_value() const { return float_; }
  // Of any number.
  double as_float() const { return kind_ == Kind::kFloat ? float_ : static_cast<double>(int_); }

  const Object* object() const { return object_; }
  // The object, with the type of kind().
  template <typename T>
  T& as() const {
    DCHECK(kind_ == T::kKind);
    return *static_cast<T*>(object_);
  }
  // A macro, a loop or an iterator.
  Special& special() const;
  template <typename T>
  Ref<T> ref() const {
    return Ref<T>(&as<T>());
  }
  // Of a string.
  std::string_view text() const;

 private:
  Value(Kind kind, int64_t value) : kind_(kind), int_(value) {}

  Kind kind_;
  union {
    int64_t int_;
    double float_;
    Object* object_;
  };
};

using Values = std::vector<Value>;

// An object of the program whose attributes templates may read.
class Special : public Object {
 public:
  // The text when a template prints the object.
  virtual std::string Repr() const = 0;
  // The attribute of that name, or missing.
  virtual Result<Value> Attribute(Runtime& runtime, std::string_view name);
};

// The result of a failed lookup; it gives the reason when a template uses it.
class Undefined final : public Object {
 public:
  static constexpr Kind kKind = Kind::kUndefined;
  // The message is `before`, `name`, `after` in a row.
  Undefined(std::string_view before, std::string name, std::string_view after)
      : before_(before), name_(std::move(name)), after_(after) {}

  std::string Message() const { return std::string(before_) + name_ + std::string(after_); }

 private:
  const std::string_view before_;  // a constant of the program, like after_
  const std::string name_;
  const std::string_view after_;
};

// An integer beyond 64 bits. It can be passed on, printed and compared, but not computed with.
class BigInt final : public Object {
 public:
  static constexpr Kind kKind = Kind::kBigInt;
  explicit BigInt(std::string text) : digits(std::move(text)) {}
  const std::string digits;  // as printed
};

class String final : public Object {
 public:
  static constexpr Kind kKind = Kind::kString;
  explicit String(std::string content) : text(std::move(content)) {}

  size_t CodePoints() const;
  bool is_ascii() const { return CodePoints() == text.size(); }

  const std::string text;

 private:
  mutable std::optional<size_t> code_points_;
};

class List final : public Object {
 public:
  static constexpr Kind kKind = Kind::kList;
  explicit List(Values values) : items(std::move(values)) {}
  void DropReferences() override { items.clear(); }
  Values items;
};

class Tuple final : public Object {
 public:
  static constexpr Kind kKind = Kind::kTuple;
  explicit Tuple(Values values) : items(std::move(values)) {}
  void DropReferences() override { items.clear(); }
  Values items;  // constant after construction
};

// A key of a dict, in a form in which equal keys have equal bytes: 1, 1.0 and true are one key.
struct DictKey {
  char tag;               // the type, up to that equality
  std::string_view text;  // for a string: its own text
  std::string encoded;    // for anything else

  std::string_view bytes() const { return tag == 's' ? text : encoded; }
};

// A dict: keys in the order of their first insertion.
class Dict final : public Object {
 public:
  static constexpr Kind kKind = Kind::kDict;
  struct Entry {
    Value key;
    Value value;
    char tag;
    std::string encoded;  // the key's bytes, unless it is a string
    std::string_view bytes() const { return key.is_string() ? key.text() : encoded; }
  };

  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }

  const Value* Find(char tag, std::string_view bytes) const;
  const Value* Find(const DictKey& key) const { return Find(key.tag, key.bytes()); }
  const Value* Find(std::string_view key) const { return Find('s', key); }
  void Set(Value key, DictKey encoded, Value value);
  // For a key that is a string.
  void Set(const Ref<String>& key, Value value);
  std::optional<Value> Remove(const DictKey& key);
  void Clear();
  void DropReferences() override { Clear(); }

 private:
  std::optional<size_t> IndexOf(char tag, std::string_view bytes) const;
  void Reindex();

  std::vector<Entry> entries_;
  // From hashes of keys to positions in entries_; only for a dict that is too large to search.
  std::unordered_multimap<size_t, size_t> index_;
};

// The result of keys(), values() and items() of a dict: a view that reflects later changes.
class DictView final : public Object {
 public:
  static constexpr Kind kKind = Kind::kDictView;
  enum class Part : uint8_t { kKeys, kValues, kItems };
  DictView(Ref<Dict> viewed, Part which) : dict(std::move(viewed)), part(which) {}
  void DropReferences() override { dict = {}; }
  Ref<Dict> dict;
  const Part part;
};

class Range final : public Object {
 public:
  static constexpr Kind kKind = Kind::kRange;
  Range(int64_t first, int64_t end, int64_t by) : start(first), stop(end), step(by) {}
  uint64_t size() const;
  // For an index below size().
  int64_t at(uint64_t index) const { return start + static_cast<int64_t>(index) * step; }
  const int64_t start;
  const int64_t stop;
  const int64_t step;
};

class Namespace final : public Object {
 public:
  static constexpr Kind kKind = Kind::kNamespace;
  explicit Namespace(Ref<Dict> initial) : attributes(std::move(initial)) {}
  void DropReferences() override { attributes = {}; }
  Ref<Dict> attributes;
};

// Made by the program and callable by templates, optionally bound to a receiver.
struct Builtin;
class Function final : public Object {
 public:
  static constexpr Kind kKind = Kind::kFunction;
  Function(const Builtin& callee, Value receiver) : builtin(callee), self(std::move(receiver)) {}
  void DropReferences() override { self = Value(); }
  const Builtin& builtin;
  Value self;  // missing for a global
};

inline Special& Value::special() const {
  DCHECK(kind_ == Kind::kMacro || kind_ == Kind::kLoop || kind_ == Kind::kIterator);
  return *static_cast<Special*>(object_);
}

inline std::string_view Value::text() const { return as<String>().text; }

}  // namespace aster::jinja
