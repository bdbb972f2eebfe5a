// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>
#if defined(__x86_64__) && !defined(XXH_INLINE_ALL)
// The same hashes with the widest vectors that the machine has: the library alone uses the oldest.
#include <xxh_x86dispatch.h>
#endif

namespace aster {

struct Hasher::State {
  XXH3_state_t* xxh = XXH3_createState();
  State() { CHECK(xxh != nullptr); }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

std::string Hash128::ToHex() const { return fmt::format("{:016x}{:016x}", high, low); }

uint64_t Hash64Of(Bytes bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

Hash128 Hash128Of(Bytes bytes, uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {.low = hash.low64, .high = hash.high64};
}

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(state_->xxh); }
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
Hasher::~Hasher() = default;

void Hasher::Add(Bytes bytes) { XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size()); }

void Hasher::AddText(std::string_view text) {
  AddValue<uint64_t>(text.size());
  Add(AsBytes(text));
}

Hash128 Hasher::Digest() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->xxh);
  return {.low = hash.low64, .high = hash.high64};
}

}  // namespace aster
