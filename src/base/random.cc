// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/random.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"

namespace aster {
namespace {

// The paper's multipliers, and the keys' steps: the fractions of the golden ratio and of √3.
constexpr uint32_t kMultiplier0 = 0xD2511F53;
constexpr uint32_t kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kKeyStep0 = 0x9E3779B9;
constexpr uint32_t kKeyStep1 = 0xBB67AE85;
constexpr int kRounds = 10;

constexpr size_t kWords = 4;  // per block

// Blocks that are made in parallel, in arrays that the compiler turns into vector registers: 16 are
// four registers of the narrowest set for each of the four words.
constexpr size_t kLanes = 16;

// Word w of the block of a lane is group[w][lane].
template <size_t lanes>
using BlockGroup = std::array<std::array<uint32_t, lanes>, kWords>;

template <size_t lanes>
void PhiloxRound(BlockGroup<lanes>& group, uint32_t key0, uint32_t key1) {
  auto& [x0, x1, x2, x3] = group;
  for (size_t lane = 0; lane < lanes; ++lane) {
    const uint64_t product0 = uint64_t{kMultiplier0} * x0[lane];
    const uint64_t product1 = uint64_t{kMultiplier1} * x2[lane];
    const uint32_t next0 = static_cast<uint32_t>(product1 >> 32) ^ x1[lane] ^ key0;
    const uint32_t next2 = static_cast<uint32_t>(product0 >> 32) ^ x3[lane] ^ key1;
    x1[lane] = static_cast<uint32_t>(product1);
    x3[lane] = static_cast<uint32_t>(product0);
    x0[lane] = next0;
    x2[lane] = next2;
  }
}

template <size_t lanes>
void PhiloxRounds(BlockGroup<lanes>& group, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < kRounds; ++round) {
    PhiloxRound(group, key0, key1);
    key0 += kKeyStep0;
    key1 += kKeyStep1;
  }
}

// The counter of a block is its index and the stream; the key is the seed.
BlockGroup<kLanes> MakeBlocks(uint64_t seed, uint64_t stream, uint64_t first_block) {
  BlockGroup<kLanes> group;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    group[0][lane] = static_cast<uint32_t>(first_block + lane);
    group[1][lane] = static_cast<uint32_t>((first_block + lane) >> 32);
  }
  group[2].fill(static_cast<uint32_t>(stream));
  group[3].fill(static_cast<uint32_t>(stream >> 32));
  PhiloxRounds(group, static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
  return group;
}

float UniformOf(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word >> 8)) * 0x1p-24F;
}

// -2 ln u for u in (0, 1] made of a word, to two units in the last place: u = 2^e·m with m from √½
// to √2, and ln m = 2 artanh s with s = (m-1)/(m+1), |s| < 0.172, whose series is s + s³/3 + …
float RadiusSquaredOf(uint32_t word) {
  const float u = (static_cast<float>(static_cast<int32_t>(word >> 1)) + 0.5F) * 0x1p-31F;
  constexpr int32_t kBitsOfRootHalf = 0x3F3504F3;
  const auto bits = std::bit_cast<int32_t>(u);
  const int32_t exponent = (bits - kBitsOfRootHalf) >> 23;
  const float m = std::bit_cast<float>(bits - (exponent << 23));
  const float s = (m - 1.0F) / (m + 1.0F);
  const float s2 = s * s;
  const float series = 1.0F + s2 * (1.0F / 3 + s2 * (1.0F / 5 + s2 * (1.0F / 7 + s2 * (1.0F / 9))));
  constexpr float kLn2 = 0.693147182F;
  const float log = static_cast<float>(exponent) * kLn2 + 2.0F * s * series;
  return std::max(-2.0F * log, 0.0F);
}

struct Point {
  float x;
  float y;
};

// A point of the unit circle, every direction equally likely: an angle in ±π/4 from the lower 30
// bits, mirrored at the diagonal and turned by half a circle by the upper two.
Point DirectionOf(uint32_t word) {
  constexpr float kQuarterPi = 0.785398163F;
  const float t = static_cast<float>(static_cast<int32_t>(word << 2)) * (kQuarterPi * 0x1p-31F);
  const float t2 = t * t;
  const float sine =
      t * (1.0F + t2 * (-1.0F / 6 + t2 * (1.0F / 120 + t2 * (-1.0F / 5040 + t2 / 362880))));
  const float cosine =
      1.0F + t2 * (-1.0F / 2 + t2 * (1.0F / 24 + t2 * (-1.0F / 720 + t2 * (1.0F / 40320))));
  const bool mirrored = (word >> 31) != 0;
  const float sign = (word & 0x40000000U) != 0 ? -1.0F : 1.0F;
  return {.x = sign * (mirrored ? sine : cosine), .y = sign * (mirrored ? cosine : sine)};
}

// Two independent normal numbers of two words, by Box's and Muller's method.
Point NormalPairOf(uint32_t word0, uint32_t word1) {
  const float radius = std::sqrt(RadiusSquaredOf(word0));  // IEEE: correctly rounded
  const Point direction = DirectionOf(word1);
  return {.x = radius * direction.x, .y = radius * direction.y};
}

// values[w][lane] belongs to word w of the lane's block.
using ValueGroup = std::array<std::array<float, kLanes>, kWords>;

void NormalsOf(const BlockGroup<kLanes>& group, ValueGroup& values) {
  for (size_t w = 0; w < kWords; w += 2) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const Point pair = NormalPairOf(group[w][lane], group[w + 1][lane]);
      values[w][lane] = pair.x;
      values[w + 1][lane] = pair.y;
    }
  }
}

void UniformsOf(const BlockGroup<kLanes>& group, ValueGroup& values) {
  for (size_t w = 0; w < kWords; ++w) {
    for (size_t lane = 0; lane < kLanes; ++lane) values[w][lane] = UniformOf(group[w][lane]);
  }
}

using GroupToValues = void (*)(const BlockGroup<kLanes>&, ValueGroup&);

// Value i of a stream is word i % 4 of block i / 4.
void Fill(uint64_t seed, uint64_t stream, uint64_t first_index, std::span<float> out,
          GroupToValues to_values) {
  constexpr size_t kGroupValues = kLanes * kWords;
  size_t skipped = first_index % kWords;
  uint64_t block = first_index / kWords;
  ValueGroup values;
  std::array<float, kGroupValues> in_order;
  while (!out.empty()) {
    to_values(MakeBlocks(seed, stream, block), values);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      for (size_t w = 0; w < kWords; ++w) in_order[lane * kWords + w] = values[w][lane];
    }
    const size_t count = std::min(kGroupValues - skipped, out.size());
    std::copy_n(in_order.begin() + static_cast<ptrdiff_t>(skipped), count, out.begin());
    out = out.subspan(count);
    skipped = 0;
    block += kLanes;
  }
}

}  // namespace

PhiloxBlock Philox(const PhiloxBlock& counter, const std::array<uint32_t, 2>& key) {
  BlockGroup<1> group;
  for (size_t w = 0; w < kWords; ++w) group[w][0] = counter[w];
  PhiloxRounds(group, key[0], key[1]);
  PhiloxBlock block;
  for (size_t w = 0; w < kWords; ++w) block[w] = group[w][0];
  return block;
}

void FillNormal(uint64_t seed, uint64_t stream, uint64_t first_index, std::span<float> out) {
  Fill(seed, stream, first_index, out, NormalsOf);
}

void FillUniform(uint64_t seed, uint64_t stream, uint64_t first_index, std::span<float> out) {
  Fill(seed, stream, first_index, out, UniformsOf);
}

uint64_t SystemSeed() {
  uint64_t seed = 0;
  // A request for so few bytes returns all of them at once; only a broken system fails.
  CHECK(getrandom(&seed, sizeof(seed), 0) == sizeof(seed));
  return seed;
}

uint32_t Random::NextU32() {
  if (used_ == kWords) {
    const auto low = [](uint64_t value) { return static_cast<uint32_t>(value); };
    block_ = Philox({low(next_block_), low(next_block_ >> 32), low(stream_), low(stream_ >> 32)},
                    {low(seed_), low(seed_ >> 32)});
    ++next_block_;
    used_ = 0;
  }
  return block_[used_++];
}

uint64_t Random::NextU64() {
  const uint64_t low = NextU32();
  return low | (uint64_t{NextU32()} << 32);
}

uint64_t Random::NextBelow(uint64_t bound) {
  CHECK(bound >= 1);
  // Lemire's method: the upper half of the product is uniform once the lower halves are rejected
  // that would make some results more frequent.
  const uint64_t refused_below = (0 - bound) % bound;
  while (true) {
    const auto product = static_cast<unsigned __int128>(NextU64()) * bound;
    if (static_cast<uint64_t>(product) >= refused_below)
      return static_cast<uint64_t>(product >> 64);
  }
}

float Random::NextFloat() { return UniformOf(NextU32()); }

double Random::NextDouble() { return static_cast<double>(NextU64() >> 11) * 0x1p-53; }

float Random::NextNormal() {
  const uint32_t word0 = NextU32();
  return NormalPairOf(word0, NextU32()).x;
}

}  // namespace aster
