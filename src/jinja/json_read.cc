// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "jinja/json.h"

namespace aster::jinja {
namespace {

Value IntOf(Runtime& runtime, uint64_t value) {
  if (value <= INT64_MAX) return Value::Int(static_cast<int64_t>(value));
  return runtime.heap().New<BigInt>(std::to_string(value));
}

// Makes values during parsing, so that they count against the limits at once.
class ValueReader final : public nlohmann::json_sax<nlohmann::ordered_json> {
 public:
  explicit ValueReader(Runtime& runtime) : runtime_(runtime) {}

  bool null() override { return Add(Value::None()); }
  bool boolean(bool value) override { return Add(Value::Bool(value)); }
  bool number_integer(number_integer_t value) override { return Add(Value::Int(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Add(IntOf(runtime_, value)); }
  bool number_float(number_float_t value, const string_t& text) override {
    // The parser reports integers that are too long as floats.
    if (text.find_first_of(".eE") != std::string::npos) return Add(Value::Float(value));
    return Add(runtime_.heap().New<BigInt>(text));
  }
  bool string(string_t& value) override { return Add(runtime_.NewString(std::move(value))); }
  bool binary(binary_t& /*value*/) override { return false; }

  bool start_object(size_t /*size*/) override { return Open(runtime_.NewDict()); }
  bool key(string_t& name) override {
    open_.back().key = runtime_.NewString(std::move(name));
    return true;
  }
  bool end_object() override { return Close(); }
  bool start_array(size_t /*size*/) override { return Open(runtime_.NewList()); }
  bool end_array() override { return Close(); }

  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    status_ = TemplateError(fmt::format("not JSON at byte {}: {}", position, error.what()));
    return false;
  }

  Result<Value> Take() {
    if (!status_.ok()) return std::move(status_).error();
    return std::move(result_);
  }

 private:
  struct Level {
    Value container;
    Ref<String> key;  // for an object: the key of the next value
  };

  bool Open(Value container) {
    open_.push_back({std::move(container), {}});
    return true;
  }
  bool Close() {
    Value container = std::move(open_.back().container);
    open_.pop_back();
    return Add(std::move(container));
  }

  bool Add(Value value) {
    status_ = runtime_.Charge();
    if (!status_.ok()) return false;
    if (open_.empty()) {
      result_ = std::move(value);
    } else if (Level& level = open_.back(); level.container.Is(Kind::kDict)) {
      level.container.as<Dict>().Set(level.key, std::move(value));
    } else {
      level.container.as<List>().items.push_back(std::move(value));
      level.container.as<List>().Grew(sizeof(Value));
    }
    return true;
  }

  Runtime& runtime_;
  std::vector<Level> open_;
  Value result_;
  Status status_ = Ok();
};

}  // namespace

Result<Value> ParseJson(Runtime& runtime, std::string_view text) {
  ValueReader reader(runtime);
  nlohmann::ordered_json::sax_parse(text, &reader);
  return reader.Take();
}

Result<Value> FromJson(Runtime& runtime, const nlohmann::ordered_json& json) {
  const Deeper deeper(runtime);
  TRY(deeper.Check());
  using Type = nlohmann::ordered_json::value_t;
  switch (json.type()) {
    case Type::boolean:
      return Value::Bool(json.get<bool>());
    case Type::number_integer:
      return Value::Int(json.get<int64_t>());
    case Type::number_unsigned:
      return IntOf(runtime, json.get<uint64_t>());
    case Type::number_float:
      return Value::Float(json.get<double>());
    case Type::string:
      return Value(runtime.NewString(json.get_ref<const std::string&>()));
    case Type::array: {
      Values items;
      items.reserve(json.size());
      for (const auto& item : json) items.push_back(TRY(FromJson(runtime, item)));
      return Value(runtime.NewList(std::move(items)));
    }
    case Type::object: {
      const Ref<Dict> dict = runtime.NewDict();
      for (const auto& [name, item] : json.items()) {
        dict->Set(runtime.NewString(name), TRY(FromJson(runtime, item)));
      }
      return Value(dict);
    }
    default:
      return Value::None();
  }
}

}  // namespace aster::jinja
