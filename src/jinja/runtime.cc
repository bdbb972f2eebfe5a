// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/runtime.h"

#include <fmt/format.h>

namespace aster::jinja {
namespace {

struct KindNames {
  std::string_view type;            // type(x).__name__
  std::string_view owner;           // the name of such an object in messages
  std::string_view attribute_hint;  // `owner` and the text after it if it lacks an attribute
};

#define ASTER_KIND_NAMES(type, owner) KindNames{type, owner, "'" owner "' has no attribute '"}
#define ASTER_PLAIN_KIND(type) ASTER_KIND_NAMES(type, type " object")

const KindNames& NamesOf(Kind kind) {
  static constexpr KindNames kNames[] = {
      ASTER_PLAIN_KIND("missing"),
      ASTER_KIND_NAMES("NoneType", "None"),
      ASTER_PLAIN_KIND("bool"),
      ASTER_PLAIN_KIND("int"),
      ASTER_PLAIN_KIND("float"),
      ASTER_KIND_NAMES("Undefined", "jinja2.runtime.Undefined object"),
      ASTER_PLAIN_KIND("int"),
      ASTER_PLAIN_KIND("str"),
      ASTER_PLAIN_KIND("list"),
      ASTER_PLAIN_KIND("tuple"),
      ASTER_PLAIN_KIND("dict"),
      ASTER_PLAIN_KIND("dict_view"),
      ASTER_PLAIN_KIND("range"),
      ASTER_PLAIN_KIND("generator"),
      ASTER_KIND_NAMES("Namespace", "jinja2.utils.Namespace object"),
      ASTER_PLAIN_KIND("builtin_function_or_method"),
      ASTER_KIND_NAMES("Macro", "jinja2.runtime.Macro object"),
      ASTER_KIND_NAMES("LoopContext", "jinja2.runtime.LoopContext object"),
  };
  return kNames[static_cast<size_t>(kind)];
}

#undef ASTER_PLAIN_KIND
#undef ASTER_KIND_NAMES

}  // namespace

Ref<String> Runtime::NewString(std::string text) {
  const auto bytes = static_cast<int64_t>(text.size());
  Ref<String> string = heap_.New<String>(std::move(text));
  string->Grew(bytes);
  return string;
}

Ref<List> Runtime::NewList(Values items) {
  const auto bytes = static_cast<int64_t>(items.size() * sizeof(Value));
  Ref<List> list = heap_.New<List>(std::move(items));
  list->Grew(bytes);
  return list;
}

Ref<Tuple> Runtime::NewTuple(Values items) {
  const auto bytes = static_cast<int64_t>(items.size() * sizeof(Value));
  Ref<Tuple> tuple = heap_.New<Tuple>(std::move(items));
  tuple->Grew(bytes);
  return tuple;
}

Value Runtime::UndefinedBecause(std::string_view hint) {
  return heap_.New<Undefined>(hint, "", "");
}

Value Runtime::UndefinedName(std::string_view name) {
  return heap_.New<Undefined>("'", std::string(name), "' is undefined");
}

Value Runtime::UndefinedAttribute(const Value& owner, std::string_view name) {
  return heap_.New<Undefined>(NamesOf(owner.kind()).attribute_hint, std::string(name), "'");
}

Value Runtime::UndefinedElement(const Value& owner, std::string element_repr) {
  return heap_.New<Undefined>(NamesOf(owner.kind()).owner,
                              " has no element " + std::move(element_repr), "");
}

Value Runtime::UnsafeAttribute(const Value& owner, std::string_view name) {
  return heap_.New<Undefined>(
      "", fmt::format("access to attribute '{}' of '{}' object is unsafe", name, TypeName(owner)),
      ".");
}

Error Runtime::OutOfSteps() const {
  return ResourceExhausted(fmt::format(
      "the template takes more than {} steps; it may loop without end", options_.limits.max_steps));
}

Error Runtime::OutOfMemory() const {
  return ResourceExhausted(fmt::format("the template's values take more than {} MiB",
                                       options_.limits.max_memory_bytes >> 20));
}

Error Runtime::TooDeep() const {
  return ResourceExhausted(
      fmt::format("more than {} levels within each other: a macro or a value that contains itself?",
                  options_.limits.max_depth));
}

std::string_view TypeName(const Value& value) { return NamesOf(value.kind()).type; }

Result<std::string> TextBuilder::Take() {
  if (overflowed_) return runtime_.OutOfMemory();
  TRY(runtime_.ChargeBytes(text_.size()));
  return std::move(text_);
}

}  // namespace aster::jinja
