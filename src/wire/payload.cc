// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "wire/payload.h"

#include <array>
#include <bit>

#include "base/mutex.h"
#include "base/sanitized.h"

namespace aster::wire {
namespace {

// The system's allocator already keeps smaller ones.
constexpr size_t kLeastBytes = 64 << 10;
// Enough for the frames in flight on a few connections.
constexpr size_t kMostKeptBytes = size_t{96} << 20;
// Sizes are rounded up to one of eight steps between powers of two.
constexpr size_t kSteps = 8;
constexpr size_t kClasses = kSteps * 64;

// Without this a sanitizer could not detect late uses.
constexpr bool kKeepsPayloads = !kSanitized;

struct SizeClass {
  size_t index;
  size_t size_bytes;
};

SizeClass ClassOf(size_t size_bytes) {
  const size_t octave = std::bit_width(size_bytes - 1) - 1;  // 2^octave < size <= 2^(octave + 1)
  const size_t step_bytes = (size_t{1} << octave) / kSteps;
  const size_t steps = (size_bytes - (size_t{1} << octave) + step_bytes - 1) / step_bytes;
  return {octave * kSteps + steps - 1, (size_t{1} << octave) + steps * step_bytes};
}

class Kept {
 public:
  void* Take(const SizeClass& size) EXCLUDES(mu_) {
    MutexLock lock(mu_);
    std::vector<void*>& pieces = pieces_[size.index];
    if (pieces.empty()) return nullptr;
    void* memory = pieces.back();
    pieces.pop_back();
    kept_bytes_ -= size.size_bytes;
    return memory;
  }

  bool Give(const SizeClass& size, void* memory) EXCLUDES(mu_) {
    MutexLock lock(mu_);
    if (kept_bytes_ + size.size_bytes > kMostKeptBytes) return false;
    pieces_[size.index].push_back(memory);
    kept_bytes_ += size.size_bytes;
    return true;
  }

 private:
  Mutex mu_;
  std::array<std::vector<void*>, kClasses> pieces_ GUARDED_BY(mu_);
  size_t kept_bytes_ GUARDED_BY(mu_) = 0;
};

// One per process, like the system's allocator. Never destroyed: payloads may outlive everything.
Kept& KeptPieces() {
  static Kept* const kept = std::make_unique<Kept>().release();
  return *kept;
}

}  // namespace

void* TakePayloadMemory(size_t size_bytes) {
  if (size_bytes < kLeastBytes) return std::allocator<std::byte>().allocate(size_bytes);
  const SizeClass size = ClassOf(size_bytes);
  void* kept = kKeepsPayloads ? KeptPieces().Take(size) : nullptr;
  return kept != nullptr ? kept : std::allocator<std::byte>().allocate(size.size_bytes);
}

void GivePayloadMemory(void* memory, size_t size_bytes) {
  SizeClass size{0, size_bytes};
  if (size_bytes >= kLeastBytes) {
    size = ClassOf(size_bytes);
    if (kKeepsPayloads && KeptPieces().Give(size, memory)) return;
  }
  std::allocator<std::byte>().deallocate(static_cast<std::byte*>(memory), size.size_bytes);
}

}  // namespace aster::wire
