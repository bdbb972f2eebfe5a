// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include <algorithm>

#include "jinja/compare.h"
#include "jinja/iterate.h"
#include "jinja/methods.h"
#include "jinja/text.h"

namespace aster::jinja {
namespace {

Values& ItemsOfList(const Call& call) { return call.self.as<List>().items; }

Status Append(List& list, Value item) {
  list.items.push_back(std::move(item));
  list.Grew(sizeof(Value));
  return Ok();
}

Result<Value> ListAppend(const Call& call) {
  TRY(Append(call.self.as<List>(), call[0]));
  return Value::None();
}

Result<Value> ListExtend(const Call& call) {
  for (const Value& item : TRY(ItemsOf(call.runtime, call[0]))) {
    TRY(Append(call.self.as<List>(), item));
  }
  return Value::None();
}

Result<Value> ListInsert(const Call& call) {
  Values& items = ItemsOfList(call);
  const auto size = static_cast<int64_t>(items.size());
  int64_t index = TRY(WantInt(call[0]));
  if (index < 0) index = std::max<int64_t>(index + size, 0);
  TRY(call.runtime.Charge(items.size() / 16));
  items.insert(items.begin() + std::min(index, size), call[1]);
  call.self.as<List>().Grew(sizeof(Value));
  return Value::None();
}

Result<Value> ListPop(const Call& call) {
  Values& items = ItemsOfList(call);
  if (items.empty()) return TemplateError("pop from empty list");
  int64_t index = call[0].is_missing() ? -1 : TRY(WantInt(call[0]));
  if (index < 0) index += static_cast<int64_t>(items.size());
  if (index < 0 || index >= static_cast<int64_t>(items.size())) {
    return TemplateError("pop index out of range");
  }
  TRY(call.runtime.Charge(items.size() / 16));
  Value popped = items[index];
  items.erase(items.begin() + index);
  call.self.as<List>().Grew(-static_cast<int64_t>(sizeof(Value)));
  return popped;
}

// The position of a value between two indices, or the size if it is not there.
Result<size_t> FindItem(const Call& call, const Values& items, int64_t start, int64_t stop) {
  const auto size = static_cast<int64_t>(items.size());
  if (start < 0) start = std::max<int64_t>(start + size, 0);
  if (stop < 0) stop += size;
  for (int64_t i = start; i < std::min(stop, size); ++i) {
    TRY(call.runtime.Charge());
    if (TRY(Equal(call.runtime, items[i], call[0]))) return static_cast<size_t>(i);
  }
  return items.size();
}

Result<Value> ListCopy(const Call& call) { return Value(call.runtime.NewList(ItemsOfList(call))); }

Result<Value> ListReverse(const Call& call) {
  TRY(call.runtime.Charge(ItemsOfList(call).size() / 16));
  std::ranges::reverse(ItemsOfList(call));
  return Value::None();
}

Result<Value> ListIndex(const Call& call) {
  const Values& items = ItemsOfList(call);
  const int64_t start = call[1].is_missing() ? 0 : TRY(WantInt(call[1]));
  const int64_t stop = call[2].is_missing() ? INT64_MAX : TRY(WantInt(call[2]));
  const size_t position = TRY(FindItem(call, items, start, stop));
  if (position == items.size()) {
    return TemplateError(fmt::format("{} is not in list", TRY(ReprOf(call.runtime, call[0]))));
  }
  return Value::Int(static_cast<int64_t>(position));
}

Result<Value> ListCount(const Call& call) {
  int64_t count = 0;
  for (const Value& item : ItemsOfList(call)) {
    TRY(call.runtime.Charge());
    if (TRY(Equal(call.runtime, item, call[0]))) ++count;
  }
  return Value::Int(count);
}

Dict& DictOf(const Call& call) { return call.self.as<Dict>(); }

Result<Value> DictGet(const Call& call) {
  const Value* value = call[0].is_string() ? DictOf(call).Find(call[0].text())
                                           : DictOf(call).Find(TRY(KeyOf(call.runtime, call[0])));
  if (value != nullptr) return *value;
  return call[1].is_missing() ? Value::None() : call[1];
}

Result<Value> DictKeys(const Call& call) {
  return Value(call.runtime.heap().New<DictView>(call.self.ref<Dict>(), DictView::Part::kKeys));
}
Result<Value> DictValues(const Call& call) {
  return Value(call.runtime.heap().New<DictView>(call.self.ref<Dict>(), DictView::Part::kValues));
}
Result<Value> DictItems(const Call& call) {
  return Value(call.runtime.heap().New<DictView>(call.self.ref<Dict>(), DictView::Part::kItems));
}

Status CopyEntries(Runtime& runtime, Dict& to, const Dict& from) {
  if (&to == &from) return Ok();
  for (const Dict::Entry& entry : from.entries()) {
    TRY(runtime.Charge());
    to.Set(entry.key, DictKey{entry.tag, entry.bytes(), entry.encoded}, entry.value);
  }
  return Ok();
}

Result<Value> DictCopy(const Call& call) {
  Ref<Dict> copy = call.runtime.NewDict();
  TRY(CopyEntries(call.runtime, *copy, DictOf(call)));
  return Value(copy);
}

Result<Value> DictPop(const Call& call) {
  TRY(call.runtime.Charge(DictOf(call).size() / 4));
  std::optional<Value> value = DictOf(call).Remove(TRY(KeyOf(call.runtime, call[0])));
  if (value) return *std::move(value);
  if (!call[1].is_missing()) return call[1];
  return TemplateError(fmt::format("KeyError: {}", TRY(ReprOf(call.runtime, call[0]))));
}

Result<Value> DictSetDefault(const Call& call) {
  DictKey key = TRY(KeyOf(call.runtime, call[0]));
  if (const Value* value = DictOf(call).Find(key)) return *value;
  const Value value = call[1].is_missing() ? Value::None() : call[1];
  DictOf(call).Set(call[0], std::move(key), value);
  return value;
}

Result<Value> DictUpdate(const Call& call) {
  TRY(UpdateDict(call.runtime, DictOf(call), call.given));
  return Value::None();
}

constexpr Builtin kListMethods[] = {
    {"append", "/object", ListAppend},
    {"copy", "", ListCopy},
    {"count", "/value", ListCount},
    {"extend", "/iterable", ListExtend},
    {"index", "/value start? stop?", ListIndex},
    {"insert", "/index object", ListInsert},
    {"pop", "/index?", ListPop},
    {"reverse", "", ListReverse},
};

constexpr Builtin kDictMethods[] = {
    {"copy", "", DictCopy},
    {"get", "/key default?", DictGet},
    {"items", "", DictItems},
    {"keys", "", DictKeys},
    {"pop", "/key default?", DictPop},
    {"setdefault", "/key default?", DictSetDefault},
    {"update", "...", DictUpdate},
    {"values", "", DictValues},
};

}  // namespace

Status UpdateDict(Runtime& runtime, Dict& dict, const Arguments& arguments) {
  if (arguments.positional.size() > 1) {
    return TemplateError(
        fmt::format("expected at most 1 argument, got {}", arguments.positional.size()));
  }
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.Is(Kind::kDict)) {
      TRY(CopyEntries(runtime, dict, source.as<Dict>()));
    } else {
      for (const Value& item : TRY(ItemsOf(runtime, source))) {
        const Values pair = TRY(ItemsOf(runtime, item));
        if (pair.size() != 2) {
          return TemplateError("a dict is made from pairs of a key and a value");
        }
        dict.Set(pair[0], TRY(KeyOf(runtime, pair[0])), pair[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) dict.Set(runtime.NewString(name), value);
  return Ok();
}

std::span<const Builtin> ListMethods() { return kListMethods; }
std::span<const Builtin> DictMethods() { return kDictMethods; }

}  // namespace aster::jinja
