// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Shared by everything that runs during a rendering: the heap, the budget of steps, bytes and
// depth, and making values. Must not know the syntax of templates.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "jinja/options.h"
#include "jinja/value.h"

namespace aster::jinja {

// One rendering. Outlives every value that it makes. Not for concurrent use.
class Runtime {
 public:
  explicit Runtime(const RenderOptions& options)
      : options_(options), steps_left_(options.limits.max_steps) {}

  const RenderOptions& options() const { return options_; }
  Heap& heap() { return heap_; }

  // Uses a part of the budget; an error if there is not enough left.
  Status Charge(uint64_t steps = 1) {
    if (steps > steps_left_) return OutOfSteps();
    steps_left_ -= steps;
    if (heap_.used_bytes() > options_.limits.max_memory_bytes) return OutOfMemory();
    return Ok();
  }
  // For reading `bytes` of text.
  Status ChargeBytes(uint64_t bytes) { return Charge(bytes / 64); }
  // An error if an object of `bytes` is larger than a template may have.
  Status CheckBytes(uint64_t bytes) {
    if (bytes > options_.limits.max_memory_bytes) return OutOfMemory();
    return Charge(bytes / 64);
  }

  Error OutOfMemory() const;

  Ref<String> NewString(std::string text);
  Ref<List> NewList(Values items = {});
  Ref<Tuple> NewTuple(Values items);
  Ref<Dict> NewDict() { return heap_.New<Dict>(); }

  // An undefined value whose reason is the hint, a constant.
  Value UndefinedBecause(std::string_view hint);
  Value UndefinedName(std::string_view name);
  Value UndefinedAttribute(const Value& owner, std::string_view name);
  Value UndefinedElement(const Value& owner, std::string element_repr);
  // An attribute that templates must not have.
  Value UnsafeAttribute(const Value& owner, std::string_view name);

 private:
  friend class Deeper;

  Error OutOfSteps() const;
  Error TooDeep() const;

  const RenderOptions options_;
  uint64_t steps_left_;
  uint32_t depth_ = 0;
  Heap heap_;
};

// One level of nesting, for the lifetime of the object.
class Deeper {
 public:
  explicit Deeper(Runtime& runtime) : runtime_(runtime) { ++runtime_.depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
  ~Deeper() { --runtime_.depth_; }

  Status Check() const {
    if (runtime_.depth_ > runtime_.options_.limits.max_depth) return runtime_.TooDeep();
    return runtime_.Charge();
  }

 private:
  Runtime& runtime_;
};

// The name of a value's type in Python.
std::string_view TypeName(const Value& value);

// An error caused by the template.
inline Error TemplateError(std::string message) { return InvalidArgument(std::move(message)); }

// Text that grows within the limits; above them it stops growing, and Take() returns the error.
class TextBuilder {
 public:
  explicit TextBuilder(Runtime& runtime)
      : runtime_(runtime), limit_bytes_(runtime.options().limits.max_memory_bytes) {}

  void Append(std::string_view text) {
    if (text_.size() + text.size() > limit_bytes_) {
      overflowed_ = true;
    } else {
      text_ += text;
    }
  }
  void Append(char c) { Append(std::string_view(&c, 1)); }
  void AppendRepeated(char c, size_t count) {
    if (count > limit_bytes_ || text_.size() + count > limit_bytes_) {
      overflowed_ = true;
    } else {
      text_.append(count, c);
    }
  }

  std::string& text() { return text_; }
  bool overflowed() const { return overflowed_; }
  Result<std::string> Take();

 private:
  Runtime& runtime_;
  const size_t limit_bytes_;
  std::string text_;
  bool overflowed_ = false;
};

}  // namespace aster::jinja
