// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The large part of a message: bytes that are sent and received without copying. Must not know what
// they mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace aster::wire {

// Memory of payloads. Large freed pieces are kept for the next ones, up to a few dozen megabytes,
// because new ones cost as much as sending them: the system zeroes every page. Safe for concurrent
// use.
void* TakePayloadMemory(size_t size_bytes);
void GivePayloadMemory(void* memory, size_t size_bytes);

// Leaves new elements uninitialised, so that memory is written once: by received or computed data.
template <typename T>
class PayloadAllocator {
 public:
  using value_type = T;

  PayloadAllocator() = default;
  template <typename U>
  PayloadAllocator(const PayloadAllocator<U>&) {}  // NOLINT(google-explicit-constructor)

  T* allocate(size_t count) { return static_cast<T*>(TakePayloadMemory(count * sizeof(T))); }
  void deallocate(T* memory, size_t count) { GivePayloadMemory(memory, count * sizeof(T)); }

  template <typename U>
  void construct(U* place) {
    std::uninitialized_default_construct_n(place, 1);
  }
  template <typename U, typename... Args>
  void construct(U* place, Args&&... args) {
    std::construct_at(place, std::forward<Args>(args)...);
  }

  friend bool operator==(const PayloadAllocator&, const PayloadAllocator&) { return true; }
};

// A vector whose resize() does not write zeros: fill the added elements.
using Payload = std::vector<uint8_t, PayloadAllocator<uint8_t>>;

}  // namespace aster::wire
