// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/heap.h"

namespace aster::jinja {

void Object::RemoveReference() {
  if (--references_ == 0) heap_->Release(this);
}

void Object::Grew(int64_t bytes) {
  bytes_ += bytes;
  heap_->used_bytes_ += bytes;
}

Heap::~Heap() {
  ending_ = true;
  for (Object* object = first_; object != nullptr; object = object->next_) {
    object->DropReferences();
  }
  while (first_ != nullptr) {
    Object* object = first_;
    first_ = object->next_;
    // tidy: allow(ownership) New made it.
    delete object;
  }
}

void Heap::Adopt(Object* object, size_t bytes) {
  object->heap_ = this;
  object->next_ = first_;
  if (first_ != nullptr) first_->previous_ = object;
  first_ = object;
  object->Grew(static_cast<int64_t>(bytes));
}

void Heap::Unlink(Object* object) {
  if (object->next_ != nullptr) object->next_->previous_ = object->previous_;
  if (object->previous_ != nullptr) {
    object->previous_->next_ = object->next_;
  } else {
    first_ = object->next_;
  }
}

void Heap::Release(Object* object) {
  // At its end, the heap deletes everything in its own order.
  if (ending_) return;
  released_.push_back(object);
  if (releasing_) return;
  releasing_ = true;
  while (!released_.empty()) {
    Object* dead = released_.back();
    released_.pop_back();
    Unlink(dead);
    used_bytes_ -= dead->bytes_;
    // tidy: allow(ownership) New made it, and no reference is left.
    delete dead;
  }
  releasing_ = false;
}

}  // namespace aster::jinja
