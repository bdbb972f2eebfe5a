// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The large part of a message: bytes that are sent from where they are and received to where they
// stay. Must not know what they mean.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace aster::wire {

// Leaves new elements as they are, so that memory is written once: by what is received or computed.
template <typename T>
class UnsetAllocator : public std::allocator<T> {
 public:
  template <typename U>
  struct rebind {
    using other = UnsetAllocator<U>;
  };

  UnsetAllocator() = default;
  template <typename U>
  UnsetAllocator(const UnsetAllocator<U>&) {}  // NOLINT(google-explicit-constructor)

  template <typename U>
  void construct(U* place) {
    std::uninitialized_default_construct_n(place, 1);
  }
  template <typename U, typename... Args>
  void construct(U* place, Args&&... args) {
    std::construct_at(place, std::forward<Args>(args)...);
  }
};

// A vector whose resize() does not write zeros: fill what was added.
using Payload = std::vector<uint8_t, UnsetAllocator<uint8_t>>;

}  // namespace aster::wire
