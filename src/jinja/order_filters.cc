// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Filters that compare items with each other: sorting, grouping, least and greatest.
#include "jinja/access.h"
#include "jinja/compare.h"
#include "jinja/filters.h"
#include "jinja/iterate.h"
#include "jinja/sort.h"
#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

bool FlagOf(const Value& value) { return !value.is_missing() && IsTrue(value); }

// Strings in lower case; anything else as it is.
Value WithoutCase(Runtime& runtime, const Value& value) {
  return value.is_string() ? Value(runtime.NewString(ToLower(value.text()))) : value;
}

Result<Value> KeyAt(Runtime& runtime, const AttributePath& path, const Value& item,
                    bool case_sensitive, const Value& default_value = Value()) {
  Value key = TRY(path.Get(runtime, item, default_value));
  TRY(runtime.ChargeBytes(key.is_string() ? key.text().size() : 0));
  return case_sensitive ? key : WithoutCase(runtime, key);
}

// The paths of "age,name", one for each attribute.
Result<std::vector<AttributePath>> PathsOf(Runtime& runtime, const Value& attribute) {
  std::vector<AttributePath> paths;
  if (!attribute.is_string()) {
    paths.push_back(TRY(AttributePath::From(runtime, attribute)));
    return paths;
  }
  std::string_view names = attribute.text();
  for (;;) {
    const size_t comma = names.find(',');
    paths.push_back(AttributePath::FromText(runtime, names.substr(0, comma)));
    if (comma == std::string_view::npos) return paths;
    names.remove_prefix(comma + 1);
  }
}

Value ItemsAsList(Runtime& runtime, const std::vector<Keyed>& entries) {
  Values items;
  items.reserve(entries.size());
  for (const Keyed& entry : entries) items.push_back(entry.item);
  return runtime.NewList(std::move(items));
}

Result<Value> SortFilter(const Call& call) {
  Runtime& runtime = call.runtime;
  const bool case_sensitive = FlagOf(call[1]);
  const std::vector<AttributePath> paths = TRY(PathsOf(runtime, call[2]));
  std::vector<Keyed> entries;
  for (const Value& item : TRY(ItemsOf(runtime, call.self))) {
    // Keys are lists, even of one, because lists compare their items for equality first.
    Values keys;
    for (const AttributePath& path : paths) {
      keys.push_back(TRY(KeyAt(runtime, path, item, case_sensitive)));
    }
    entries.push_back({runtime.NewList(std::move(keys)), item});
    TRY(runtime.Charge());
  }
  TRY(SortByKey(runtime, entries, FlagOf(call[0])));
  return ItemsAsList(runtime, entries);
}

Result<Value> DictSort(const Call& call) {
  Runtime& runtime = call.runtime;
  if (call.self.is_undefined()) return TemplateError(call.self.as<Undefined>().Message());
  if (!call.self.Is(Kind::kDict)) return TemplateError("dictsort wants a dict");
  const bool case_sensitive = FlagOf(call[0]);
  const std::string_view by =
      call[1].is_missing() ? "key" : TRY(WantString(call[1], "what to sort by"));
  if (by != "key" && by != "value") {
    return TemplateError("You can only sort by either \"key\" or \"value\"");
  }
  std::vector<Keyed> entries;
  for (const Dict::Entry& entry : call.self.as<Dict>().entries()) {
    const Value& key = by == "key" ? entry.key : entry.value;
    entries.push_back({case_sensitive ? key : WithoutCase(runtime, key),
                       runtime.NewTuple({entry.key, entry.value})});
  }
  TRY(SortByKey(runtime, entries, FlagOf(call[2])));
  return ItemsAsList(runtime, entries);
}

template <Order kBetter>
Result<Value> Best(const Call& call) {
  Runtime& runtime = call.runtime;
  const bool case_sensitive = FlagOf(call[0]);
  const AttributePath path = TRY(AttributePath::From(runtime, call[1]));
  const Ref<Iterator> iterator = TRY(Iterate(runtime, call.self));
  Value best = TRY(iterator->Next(runtime));
  if (best.is_missing()) {
    return runtime.UndefinedBecause("No aggregated item, sequence was empty.");
  }
  Value best_key = TRY(KeyAt(runtime, path, best, case_sensitive));
  for (;;) {
    Value item = TRY(iterator->Next(runtime));
    if (item.is_missing()) return best;
    TRY(runtime.Charge());
    Value key = TRY(KeyAt(runtime, path, item, case_sensitive));
    if (!TRY(Ordered(runtime, kBetter, key, best_key))) continue;
    best = std::move(item);
    best_key = std::move(key);
  }
}

Result<Value> GroupBy(const Call& call) {
  Runtime& runtime = call.runtime;
  const AttributePath path = TRY(AttributePath::From(runtime, call[0]));
  const Value default_value = call[1].is_none() ? Value() : call[1];
  const bool case_sensitive = FlagOf(call[2]);
  std::vector<Keyed> entries;
  for (const Value& item : TRY(ItemsOf(runtime, call.self))) {
    entries.push_back({TRY(KeyAt(runtime, path, item, case_sensitive, default_value)), item});
  }
  TRY(SortByKey(runtime, entries, false));
  Values groups;
  for (size_t begin = 0; begin < entries.size();) {
    size_t end = begin;
    Values items;
    while (end < entries.size() && TRY(Equal(runtime, entries[end].key, entries[begin].key))) {
      items.push_back(entries[end++].item);
    }
    // Not even equal to itself: not a number.
    if (end == begin) items.push_back(entries[end++].item);
    // The group goes by the name that its first item gives, in its case.
    Value grouper = TRY(path.Get(runtime, items[0], default_value));
    groups.push_back(
        runtime.NewTuple({std::move(grouper), runtime.NewList(std::move(items))}, true));
    begin = end;
  }
  return Value(runtime.NewList(std::move(groups)));
}

constexpr Builtin kOrderFilters[] = {
    {"dictsort", "case_sensitive? by? reverse?", DictSort},
    {"groupby", "attribute default? case_sensitive?", GroupBy},
    {"max", "case_sensitive? attribute?", Best<Order::kGreater>},
    {"min", "case_sensitive? attribute?", Best<Order::kLess>},
    {"sort", "reverse? case_sensitive? attribute?", SortFilter},
};

}  // namespace

std::span<const Builtin> OrderFilters() { return kOrderFilters; }

}  // namespace aster::jinja
