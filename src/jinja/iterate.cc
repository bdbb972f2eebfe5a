// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/iterate.h"

#include <fmt/format.h>

#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

// Over a list that may change meanwhile, or a tuple.
class SequenceIterator final : public Iterator {
 public:
  explicit SequenceIterator(Value sequence) : sequence_(std::move(sequence)) {}
  void DropReferences() override { sequence_ = Value(); }

  Result<Value> Next(Runtime& /*runtime*/) override {
    if (sequence_.is_missing()) return Value();
    const Values& items =
        sequence_.Is(Kind::kList) ? sequence_.as<List>().items : sequence_.as<Tuple>().items;
    if (index_ < items.size()) return items[index_++];
    sequence_ = Value();
    return Value();
  }

 private:
  Value sequence_;  // missing at the end
  size_t index_ = 0;
};

class StringIterator final : public Iterator {
 public:
  explicit StringIterator(Ref<String> string) : string_(std::move(string)) {}
  void DropReferences() override { string_ = {}; }

  Result<Value> Next(Runtime& runtime) override {
    const std::string& text = string_->text;
    if (offset_ >= text.size()) return Value();
    const size_t begin = offset_;
    DecodeNext(text, offset_);
    return Value(runtime.NewString(text.substr(begin, offset_ - begin)));
  }

 private:
  Ref<String> string_;
  size_t offset_ = 0;
};

class DictIterator final : public Iterator {
 public:
  DictIterator(Ref<Dict> dict, DictView::Part part)
      : dict_(std::move(dict)), part_(part), size_(dict_->size()) {}
  void DropReferences() override { dict_ = {}; }

  Result<Value> Next(Runtime& runtime) override {
    if (dict_->size() != size_) {
      return TemplateError("dictionary changed size during iteration");
    }
    if (index_ >= size_) return Value();
    const Dict::Entry& entry = dict_->entries()[index_++];
    if (part_ == DictView::Part::kKeys) return entry.key;
    if (part_ == DictView::Part::kValues) return entry.value;
    return Value(runtime.NewTuple({entry.key, entry.value}));
  }

 private:
  Ref<Dict> dict_;
  const DictView::Part part_;
  const size_t size_;
  size_t index_ = 0;
};

class RangeIterator final : public Iterator {
 public:
  explicit RangeIterator(Ref<Range> range) : range_(std::move(range)), size_(range_->size()) {}
  void DropReferences() override { range_ = {}; }

  Result<Value> Next(Runtime& /*runtime*/) override {
    return index_ < size_ ? Value::Int(range_->at(index_++)) : Value();
  }

 private:
  Ref<Range> range_;
  const uint64_t size_;
  uint64_t index_ = 0;
};

// From the last item of a list or tuple to the first.
class BackwardsIterator final : public Iterator {
 public:
  explicit BackwardsIterator(Value sequence) : sequence_(std::move(sequence)) {
    left_ = items().size();
  }
  void DropReferences() override { sequence_ = Value(); }

  Result<Value> Next(Runtime& /*runtime*/) override {
    if (left_ == 0 || left_ > items().size()) return Value();
    return items()[--left_];
  }

 private:
  const Values& items() const {
    return sequence_.Is(Kind::kList) ? sequence_.as<List>().items : sequence_.as<Tuple>().items;
  }

  Value sequence_;
  size_t left_;
};

class EmptyIterator final : public Iterator {
 public:
  Result<Value> Next(Runtime& /*runtime*/) override { return Value(); }
};

}  // namespace

bool IsIterable(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kRange:
    case Kind::kIterator:
      return true;
    default:
      return false;
  }
}

Result<Ref<Iterator>> Iterate(Runtime& runtime, const Value& value) {
  Heap& heap = runtime.heap();
  switch (value.kind()) {
    case Kind::kUndefined:
      return Ref<Iterator>(heap.New<EmptyIterator>());
    case Kind::kString:
      return Ref<Iterator>(heap.New<StringIterator>(value.ref<String>()));
    case Kind::kList:
    case Kind::kTuple:
      return Ref<Iterator>(heap.New<SequenceIterator>(value));
    case Kind::kDict:
      return Ref<Iterator>(heap.New<DictIterator>(value.ref<Dict>(), DictView::Part::kKeys));
    case Kind::kDictView: {
      const DictView& view = value.as<DictView>();
      return Ref<Iterator>(heap.New<DictIterator>(view.dict, view.part));
    }
    case Kind::kRange:
      return Ref<Iterator>(heap.New<RangeIterator>(value.ref<Range>()));
    case Kind::kIterator:
      return value.ref<Iterator>();
    default:
      return TemplateError(fmt::format("'{}' object is not iterable", TypeName(value)));
  }
}

Result<Value> IterateBackwards(Runtime& runtime, const Value& value) {
  Heap& heap = runtime.heap();
  switch (value.kind()) {
    case Kind::kUndefined:
      return Value(heap.New<EmptyIterator>());
    case Kind::kList:
    case Kind::kTuple:
      return Value(heap.New<BackwardsIterator>(value));
    case Kind::kString:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kRange: {
      // Rare, so the items are collected first.
      Values items = TRY(ItemsOf(runtime, value));
      return Value(heap.New<BackwardsIterator>(runtime.NewList(std::move(items))));
    }
    default:
      return Value();
  }
}

Result<Values> ItemsOf(Runtime& runtime, const Value& value) {
  const Ref<Iterator> iterator = TRY(Iterate(runtime, value));
  Values items;
  for (;;) {
    Value item = TRY(iterator->Next(runtime));
    if (item.is_missing()) return items;
    TRY(runtime.Charge());
    items.push_back(std::move(item));
  }
}

bool HasLength(const Value& value) { return IsIterable(value) && !value.Is(Kind::kIterator); }

Result<size_t> LengthOf(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return size_t{0};
    case Kind::kString:
      return value.as<String>().CodePoints();
    case Kind::kList:
      return value.as<List>().items.size();
    case Kind::kTuple:
      return value.as<Tuple>().items.size();
    case Kind::kDict:
      return value.as<Dict>().size();
    case Kind::kDictView:
      return value.as<DictView>().dict->size();
    case Kind::kRange:
      return size_t{value.as<Range>().size()};
    default:
      return TemplateError(fmt::format("object of type '{}' has no len()", TypeName(value)));
  }
}

}  // namespace aster::jinja
