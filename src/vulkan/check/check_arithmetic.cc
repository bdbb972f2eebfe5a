// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/check/check_arithmetic.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <iterator>

#include "kernels/ref/math.h"
#include "quant/half.h"

namespace aster::vulkan {
namespace {

struct Inputs {
  std::vector<uint32_t> a;
  std::vector<uint32_t> b;
  std::vector<uint32_t> c;
};

enum class Kind : uint8_t { kModest, kAny, kCancelling, kTiny, kEdges, kDenormal, kHalfway };
constexpr Kind kKinds[] = {Kind::kModest, Kind::kAny,      Kind::kCancelling, Kind::kTiny,
                           Kind::kEdges,  Kind::kDenormal, Kind::kHalfway};

constexpr uint32_t kSignAndMantissa = 0x807fffffu;
constexpr uint32_t kMagnitude = 0x7fffffffu;
constexpr uint32_t kEdges[] = {0x00000000u, 0x80000000u, 0x3f800000u, 0xbf800000u, 0x7f800000u,
                               0xff800000u, 0x7fc00000u, 0x00800000u, 0x80800000u, 0x007fffffu,
                               0x00000001u, 0x7f7fffffu, 0x3f7fffffu, 0x3fffffffu, 0x34000000u,
                               0x33800000u, 0x33800001u, 0x4b000000u, 0x4b7fffffu, 0x42fe0000u};

uint32_t WithExponent(Random& random, uint32_t lowest, uint32_t count) {
  const auto exponent = static_cast<uint32_t>(lowest + random.NextBelow(count));
  return (random.NextU32() & kSignAndMantissa) | exponent << 23;
}

// Halfway between two numbers of fewer bits, or next to that: difficult for rounding conversions.
uint32_t HalfwayToFewerBits(Random& random) {
  const uint32_t unit = 1u << (7 + random.NextBelow(17));
  const uint32_t below = WithExponent(random, 100, 46) & ~(unit - 1);
  return below + unit / 2 + static_cast<uint32_t>(random.NextBelow(3)) - 1;
}

uint32_t InputOf(Kind kind, Random& random) {
  switch (kind) {
    case Kind::kModest:
      return WithExponent(random, 107, 40);
    case Kind::kAny:
      return random.NextU32();
    case Kind::kCancelling:
      return WithExponent(random, 120, 8);
    case Kind::kTiny:
      return WithExponent(random, 1, 40);
    case Kind::kEdges:
      return kEdges[random.NextBelow(std::size(kEdges))];
    case Kind::kDenormal:
      return random.NextBelow(2) == 0 ? random.NextU32() & kSignAndMantissa
                                      : WithExponent(random, 1, 160);
    case Kind::kHalfway:
      return HalfwayToFewerBits(random);
  }
  return 0;
}

// An addend that nearly cancels the product, or lies about halfway between two floats of it.
uint32_t AddendNear(float product, Random& random) {
  if (random.NextBelow(2) == 0)
    return std::bit_cast<uint32_t>(-product) + static_cast<uint32_t>(random.NextBelow(5)) - 2;
  return std::bit_cast<uint32_t>(product) + (static_cast<uint32_t>(random.NextBelow(60)) << 23) -
         (30u << 23);
}

// Mantissas whose product plus an addend with a much greater exponent is nearly halfway between two
// floats: only the last bits of the product decide the rounding.
struct NearlyHalfway {
  uint32_t a;
  uint32_t b;
  int32_t distance;
};
constexpr NearlyHalfway kNearlyHalfway[] = {{0x3b16db, 0x68f553, 16}, {0x350f69, 0x0870d9, 17},
                                            {0x03fb61, 0x4f8b25, 18}, {0x7cf30f, 0x74eb23, 19},
                                            {0x4634d3, 0x202805, 20}, {0x71d2bb, 0x187125, 22},
                                            {0x001000, 0x001000, -70}};

void AddNearlyHalfway(Inputs& inputs, Random& random) {
  const NearlyHalfway& of = kNearlyHalfway[random.NextBelow(std::size(kNearlyHalfway))];
  const auto a = static_cast<uint32_t>(117 + random.NextBelow(20));
  const auto b = static_cast<uint32_t>(117 + random.NextBelow(20));
  const uint32_t c = a + b - 127 + static_cast<uint32_t>(of.distance);
  inputs.a.push_back((random.NextU32() & ~kMagnitude) | a << 23 | of.a);
  inputs.b.push_back((random.NextU32() & ~kMagnitude) | b << 23 | of.b);
  inputs.c.push_back((random.NextU32() & kSignAndMantissa) | c << 23);
}

Inputs MakeInputs(Kind kind, uint32_t count, Random& random) {
  Inputs inputs;
  for (uint32_t i = 0; i < count; ++i) {
    if (kind == Kind::kHalfway && i % 2 == 0) {
      AddNearlyHalfway(inputs, random);
      continue;
    }
    inputs.a.push_back(InputOf(kind, random));
    inputs.b.push_back(InputOf(kind, random));
    const float product =
        std::bit_cast<float>(inputs.a.back()) * std::bit_cast<float>(inputs.b.back());
    inputs.c.push_back(kind == Kind::kCancelling ? AddendNear(product, random)
                                                 : InputOf(kind, random));
  }
  return inputs;
}

uint32_t Bits(float x) { return std::bit_cast<uint32_t>(x); }
float Float(uint32_t bits) { return std::bit_cast<float>(bits); }

// A denormal as the zero of its sign, as which later operations treat it.
uint32_t Flushed(uint32_t bits) { return (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits; }

// Devices differ in whether a result counts as denormal before or after rounding
// (base/float_mode.h): instead of the smallest normal number they may give zero.
bool IsEdge(uint32_t want, uint32_t got) {
  constexpr uint32_t kSmallestNormal = 0x00800000u;
  const uint32_t magnitudes = (want | got) & kMagnitude;
  return (want & got & kMagnitude) == 0 && magnitudes == kSmallestNormal &&
         ((want ^ got) & 0x80000000u) == 0;
}

struct Operation {
  const char* name;
  uint32_t (*compute)(uint32_t a, uint32_t b, uint32_t c);
  bool gives_float = true;  // else the bits are compared, also those of NaN
};

// In the order of arithmetic.comp.
constexpr Operation kOperations[] = {
    {"addition", [](uint32_t a, uint32_t b, uint32_t) { return Bits(Float(a) + Float(b)); }},
    {"subtraction", [](uint32_t a, uint32_t b, uint32_t) { return Bits(Float(a) - Float(b)); }},
    {"multiplication", [](uint32_t a, uint32_t b, uint32_t) { return Bits(Float(a) * Float(b)); }},
    {"fused multiply-add", [](uint32_t a, uint32_t b,
                              uint32_t c) { return Bits(std::fma(Float(a), Float(b), Float(c))); }},
    {"division", [](uint32_t a, uint32_t b, uint32_t) { return Bits(Float(a) / Float(b)); }},
    {"square root", [](uint32_t a, uint32_t, uint32_t) { return Bits(std::sqrt(Float(a))); }},
    {"maximum", [](uint32_t a, uint32_t b,
                   uint32_t) { return Flushed(Bits(kernels::ref::Max(Float(a), Float(b)))); }},
    {"conversion of integers",
     [](uint32_t a, uint32_t, uint32_t) {
       return Bits(static_cast<float>(static_cast<int32_t>(a)));
     }},
    {"conversion from half",
     [](uint32_t a, uint32_t, uint32_t) {
       return Bits(quant::HalfToFloat(static_cast<uint16_t>(a)));
     },
     false},
    {"conversion to half",
     [](uint32_t a, uint32_t, uint32_t) { return uint32_t{quant::FloatToHalf(Float(a))}; }, false},
    {"conversion to bfloat16",
     [](uint32_t a, uint32_t, uint32_t) { return uint32_t{quant::FloatToBfloat16(Float(a))}; },
     false},
};
constexpr size_t kMaximum = 6;

struct Push {
  Address a;
  Address b;
  Address c;
  Address result;
  uint32_t count;
  uint32_t operation;
};

Status CheckOperation(size_t index, const Inputs& inputs, const Buffer& result) {
  const Operation& operation = kOperations[index];
  const size_t count = inputs.a.size();
  std::vector<uint32_t> want;
  for (size_t i = 0; i < count; ++i)
    want.push_back(operation.compute(inputs.a[i], inputs.b[i], inputs.c[i]));
  std::vector<uint32_t> got(count);
  std::memcpy(got.data(), result.data(), count * sizeof(uint32_t));
  for (size_t i = 0; i < count; ++i) {
    if (index == kMaximum) got[i] = Flushed(got[i]);
    if (IsEdge(want[i], got[i])) got[i] = want[i];
  }
  if (!operation.gives_float) return CompareWords(operation.name, want, got);
  return CompareFloats(operation.name, {reinterpret_cast<const float*>(want.data()), count},
                       {reinterpret_cast<const float*>(got.data()), count});
}

}  // namespace

Status CheckArithmetic(Workbench& bench, uint32_t count, uint64_t seed) {
  Random random(seed, 3);
  for (const Kind kind : kKinds) {
    const Inputs inputs = MakeInputs(kind, count, random);
    const Buffer a = TRY(bench.Put(inputs.a));
    const Buffer b = TRY(bench.Put(inputs.b));
    const Buffer c = TRY(bench.Put(inputs.c));
    std::vector<Buffer> results;
    for (size_t i = 0; i < std::size(kOperations); ++i)
      results.push_back(TRY(bench.Room(uint64_t{count} * 4)));
    TRY(bench.Run([&](Commands& commands) -> Status {
      for (uint32_t i = 0; i < std::size(kOperations); ++i) {
        const Push push{a.address(), b.address(), c.address(), results[i].address(), count, i};
        TRY(bench.kernels().Record(commands, "arithmetic", {}, push,
                                   {.x = DivideRoundingUp(count, 64)}));
      }
      return Ok();
    }));
    for (size_t i = 0; i < std::size(kOperations); ++i) TRY(CheckOperation(i, inputs, results[i]));
  }
  return Ok();
}

}  // namespace aster::vulkan
