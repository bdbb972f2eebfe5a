// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Filters that compute each item when it is requested. Templates can notice it: such a result has
// no length, can be iterated once, and its errors come late.
#include <fmt/format.h>

#include "jinja/access.h"
#include "jinja/compare.h"
#include "jinja/filters.h"
#include "jinja/iterate.h"
#include "jinja/text.h"
#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

// A filter's value and arguments, kept until the first item is requested.
class LazyIterator : public Iterator {
 public:
  LazyIterator(Value source, Arguments arguments)
      : source_(std::move(source)), arguments_(std::move(arguments)) {}

  void DropReferences() override {
    source_ = Value();
    arguments_ = {};
    iterator_ = {};
  }

  Result<Value> Next(Runtime& runtime) final {
    if (done_) return Value();
    Value item = TRY(NextOrStart(runtime));
    if (item.is_missing()) {
      done_ = true;
      DropReferences();
    }
    return item;
  }

 protected:
  // Whether there are no items, nor errors, if the source is false: none, 0, undefined.
  virtual bool IgnoresFalse() const { return false; }
  // Called once, before the first item.
  virtual Status Start(Runtime& runtime) = 0;
  // The next item of the result.
  virtual Result<Value> Produce(Runtime& runtime) = 0;

  const Value& source() const { return source_; }
  const Arguments& arguments() const { return arguments_; }
  Arguments& arguments() { return arguments_; }

  Result<Value> NextOfSource(Runtime& runtime) {
    TRY(runtime.Charge());
    if (!iterator_) iterator_ = TRY(Iterate(runtime, source_));
    return iterator_->Next(runtime);
  }

  Value Given(size_t index) const {
    return index < arguments_.positional.size() ? arguments_.positional[index] : Value();
  }

 private:
  Result<Value> NextOrStart(Runtime& runtime) {
    if (!started_) {
      started_ = true;
      if (IgnoresFalse() && !IsTrue(source_)) return Value();
      TRY(Start(runtime));
    }
    return Produce(runtime);
  }

  Value source_;
  Arguments arguments_;
  Ref<Iterator> iterator_;
  bool started_ = false;
  bool done_ = false;
};

class MapIterator final : public LazyIterator {
 public:
  using LazyIterator::LazyIterator;
  void DropReferences() override {
    LazyIterator::DropReferences();
    path_.DropReferences();
    default_ = Value();
  }

 protected:
  bool IgnoresFalse() const override { return true; }
  Status Start(Runtime& runtime) override {
    if (!arguments().positional.empty()) {
      const Value name = arguments().positional[0];
      filter_ = name.is_string() ? FindFilter(name.text()) : nullptr;
      if (filter_ == nullptr) {
        return TemplateError(fmt::format("No filter named {}.", TRY(ReprOf(runtime, name))));
      }
      arguments().positional.erase(arguments().positional.begin());
      return Ok();
    }
    const Value attribute = arguments().TakeNamed("attribute");
    if (attribute.is_missing()) return TemplateError("map requires a filter argument");
    default_ = arguments().TakeNamed("default");
    if (default_.is_none()) default_ = Value();
    if (!arguments().named.empty()) {
      return TemplateError(
          fmt::format("Unexpected keyword argument '{}'", arguments().named[0].first));
    }
    path_ = TRY(AttributePath::From(runtime, attribute));
    return Ok();
  }

  Result<Value> Produce(Runtime& runtime) override {
    const Value item = TRY(NextOfSource(runtime));
    if (item.is_missing()) return Value();
    if (filter_ != nullptr) return Invoke(runtime, *filter_, item, arguments());
    return path_.Get(runtime, item, default_);
  }

 private:
  const Builtin* filter_ = nullptr;
  AttributePath path_;
  Value default_;
};

// select, reject, selectattr and rejectattr.
class SelectIterator final : public LazyIterator {
 public:
  SelectIterator(Value source, Arguments arguments, bool keeps, bool by_attribute)
      : LazyIterator(std::move(source), std::move(arguments)),
        keeps_(keeps),
        by_attribute_(by_attribute) {}
  void DropReferences() override {
    LazyIterator::DropReferences();
    path_.DropReferences();
  }

 protected:
  bool IgnoresFalse() const override { return true; }
  Status Start(Runtime& runtime) override {
    Values& given = arguments().positional;
    if (by_attribute_) {
      if (given.empty()) return TemplateError("Missing parameter for attribute name");
      path_ = TRY(AttributePath::From(runtime, given[0]));
      given.erase(given.begin());
    }
    if (given.empty()) return Ok();
    const Value name = given[0];
    test_ = name.is_string() ? FindTest(name.text()) : nullptr;
    if (test_ == nullptr) {
      return TemplateError(fmt::format("No test named {}.", TRY(ReprOf(runtime, name))));
    }
    given.erase(given.begin());
    return Ok();
  }

  Result<Value> Produce(Runtime& runtime) override {
    for (;;) {
      Value item = TRY(NextOfSource(runtime));
      if (item.is_missing()) return Value();
      Value outcome = TRY(path_.Get(runtime, item));
      if (test_ != nullptr) outcome = TRY(Invoke(runtime, *test_, outcome, arguments()));
      if (IsTrue(outcome) == keeps_) return item;
    }
  }

 private:
  const bool keeps_;
  const bool by_attribute_;
  const Builtin* test_ = nullptr;  // null: the item's own truth
  AttributePath path_;
};

class UniqueIterator final : public LazyIterator {
 public:
  using LazyIterator::LazyIterator;
  void DropReferences() override {
    LazyIterator::DropReferences();
    path_.DropReferences();
    seen_ = {};
  }

 protected:
  Status Start(Runtime& runtime) override {
    seen_ = runtime.NewDict();
    path_ = TRY(AttributePath::From(runtime, Given(1)));
    return Ok();
  }

  Result<Value> Produce(Runtime& runtime) override {
    const bool case_sensitive = IsTrue(Given(0));
    for (;;) {
      Value item = TRY(NextOfSource(runtime));
      if (item.is_missing()) return Value();
      Value key = TRY(path_.Get(runtime, item));
      if (key.is_string() && !case_sensitive) key = runtime.NewString(ToLower(key.text()));
      DictKey encoded = TRY(KeyOf(runtime, key));
      if (seen_->Find(encoded) != nullptr) continue;
      seen_->Set(key, std::move(encoded), Value::None());
      return item;
    }
  }

 private:
  AttributePath path_;
  Ref<Dict> seen_;
};

class ItemsIterator final : public LazyIterator {
 public:
  using LazyIterator::LazyIterator;
  void DropReferences() override {
    LazyIterator::DropReferences();
    items_ = {};
  }

 protected:
  Status Start(Runtime& runtime) override {
    if (source().is_undefined()) return Ok();
    if (!source().Is(Kind::kDict)) {
      return TemplateError("Can only get item pairs from a mapping.");
    }
    items_ = TRY(Iterate(
        runtime, runtime.heap().New<DictView>(source().ref<Dict>(), DictView::Part::kItems)));
    return Ok();
  }

  Result<Value> Produce(Runtime& runtime) override {
    return items_ ? items_->Next(runtime) : Result<Value>(Value());
  }

 private:
  Ref<Iterator> items_;
};

Result<Value> Map(const Call& call) {
  return Value(call.runtime.heap().New<MapIterator>(call.self, call.given));
}

template <bool kKeeps, bool kByAttribute>
Result<Value> Select(const Call& call) {
  return Value(
      call.runtime.heap().New<SelectIterator>(call.self, call.given, kKeeps, kByAttribute));
}

// For filters with parameters of their own: the bound arguments, in their order.
template <typename T>
Result<Value> Lazily(const Call& call) {
  return Value(call.runtime.heap().New<T>(call.self, Arguments{call.args, {}}));
}

constexpr Builtin kLazyFilters[] = {
    {"items", "", Lazily<ItemsIterator>},
    {"map", "...", Map},
    {"reject", "...", Select<false, false>},
    {"rejectattr", "...", Select<false, true>},
    {"select", "...", Select<true, false>},
    {"selectattr", "...", Select<true, true>},
    {"unique", "case_sensitive? attribute?", Lazily<UniqueIterator>},
};

}  // namespace

std::span<const Builtin> LazyFilters() { return kLazyFilters; }

}  // namespace aster::jinja
