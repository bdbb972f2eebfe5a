// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Filters that compare items with each other: sorting, minimum and maximum.
#include "jinja/access.h"
#include "jinja/compare.h"
#include "jinja/filters.h"
#include "jinja/iterate.h"
#include "jinja/sort.h"
#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

// Strings in lower case; anything else unchanged.
Value WithoutCase(Runtime& runtime, const Value& value) {
  return value.is_string() ? Value(runtime.NewString(ToLower(value.text()))) : value;
}

Result<Value> KeyAt(Runtime& runtime, const AttributePath& path, const Value& item,
                    bool case_sensitive) {
  Value key = TRY(path.Get(runtime, item));
  TRY(runtime.ChargeBytes(key.is_string() ? key.text().size() : 0));
  return case_sensitive ? key : WithoutCase(runtime, key);
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
  if (call[2].is_string() && call[2].text().find(',') != std::string_view::npos) {
    return Unimplemented("sort() by several attributes is not supported");
  }
  const AttributePath path = TRY(AttributePath::From(runtime, call[2]));
  std::vector<Keyed> entries;
  for (const Value& item : TRY(ItemsOf(runtime, call.self))) {
    // The key is a list of one item, because lists first compare their items for equality.
    Values key = {TRY(KeyAt(runtime, path, item, case_sensitive))};
    entries.push_back({runtime.NewList(std::move(key)), item});
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

constexpr Builtin kOrderFilters[] = {
    {"dictsort", "case_sensitive? by? reverse?", DictSort},
    {"max", "case_sensitive? attribute?", Best<Order::kGreater>},
    {"min", "case_sensitive? attribute?", Best<Order::kLess>},
    {"sort", "reverse? case_sensitive? attribute?", SortFilter},
};

}  // namespace

std::span<const Builtin> OrderFilters() { return kOrderFilters; }

}  // namespace aster::jinja
