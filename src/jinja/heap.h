// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The heap of one rendering: reference-counted objects, with a count of their bytes, so that a
// template cannot exhaust memory. Objects left at the end, such as cycles, are deleted with the
// heap. Must not know what the objects are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

namespace aster::jinja {

class Heap;

// An object on a heap. Made by Heap::New and held by Ref; used by one thread.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;

  // Drops its references to other objects. Not used afterwards.
  virtual void DropReferences() {}

  void AddReference() { ++references_; }
  void RemoveReference();

  // Tells the heap that this object takes `bytes` more than before (negative: less).
  void Grew(int64_t bytes);

 private:
  friend class Heap;

  Heap* heap_ = nullptr;
  Object* previous_ = nullptr;
  Object* next_ = nullptr;
  size_t bytes_ = 0;
  uint32_t references_ = 0;
};

// A counted reference, never null unless default-constructed or moved from.
template <typename T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) {
    if (object_ != nullptr) object_->AddReference();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <typename U>
    requires std::is_convertible_v<U*, T*>
  Ref(const Ref<U>& other) : Ref(other.get()) {}  // NOLINT(google-explicit-constructor)
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->RemoveReference();
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

// Outlives every reference to its objects. Not for concurrent use.
class Heap {
 public:
  Heap() = default;
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  ~Heap();

  template <typename T, typename... Args>
  Ref<T> New(Args&&... args) {
    // tidy: allow(ownership) Ref counts the references, and Release deletes the last.
    T* object = new T(std::forward<Args>(args)...);
    Adopt(object, sizeof(T));
    return Ref<T>(object);
  }

  size_t used_bytes() const { return used_bytes_; }

 private:
  friend class Object;

  void Adopt(Object* object, size_t bytes);
  void Release(Object* object);
  void Unlink(Object* object);

  Object* first_ = nullptr;
  size_t used_bytes_ = 0;
  // Objects without references. They are deleted one after the other, not each within its holder's
  // destructor, so that a long chain does not overflow the stack.
  std::vector<Object*> released_;
  bool releasing_ = false;
  bool ending_ = false;
};

}  // namespace aster::jinja
