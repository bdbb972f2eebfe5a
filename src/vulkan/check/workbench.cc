// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/check/workbench.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

namespace aster::vulkan {
namespace {

// Groups of 32 values that are all of one kind, so that scales of groups are tried too.
void MakeGroupHostile(uint64_t group, float* values, Random& random) {
  constexpr float kFactors[] = {0.0f, 0x1p-105f, 0x1p-112f, 0x1p90f, 1e3f};
  const uint64_t kind = group % 16;
  for (size_t i = 0; i < 32; ++i) {
    if (kind >= 3 && kind < 8) values[i] *= kFactors[kind - 3];
    if (kind == 8) values[i] = std::bit_cast<float>(random.NextU32() & 0x807fffffu);  // denormal
    if (kind == 9)                                                                    // ties
      values[i] = (static_cast<float>(random.NextBelow(255)) - 127.0f) * 0.5f;
  }
}

// Makes a group whose sum is one or minus one, in 127ths of the smallest scale that is not zero.
void MakeGroupVanish(float* values, Random& random) {
  const float unit = random.NextBelow(2) == 0 ? 0x1p-116f : -0x1p-116f;
  values[0] = 127 * unit;
  values[1] = -126 * unit;
}

// Rarely makes infinite or very large values, as they hide all other errors in their row.
void MakeValueHostile(float& value, Random& random) {
  constexpr float kOdd[] = {0.0f,      -0.0f,    0x1p-149f, -0x1p-140f, 0x1p-126f,
                            -0x1p-24f, 65504.0f, 65520.0f,  88.7f,      -87.3f};
  constexpr float kEnds[] = {kCheckInfinity, -kCheckInfinity, -0x1.fffffep127f,
                             std::numeric_limits<float>::quiet_NaN()};
  if (random.NextBelow(256) == 0) value = kOdd[random.NextBelow(std::size(kOdd))];
  if (random.NextBelow(8192) == 0) value = kEnds[random.NextBelow(std::size(kEnds))];
}

bool IsNan(uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

Error Differs(std::string_view what, size_t index, size_t count, uint32_t want, uint32_t got) {
  return DataLoss(
      fmt::format("{}: element {} of {} is {:08x}, not {:08x}", what, index, count, got, want));
}

}  // namespace

Result<Buffer> Workbench::Room(uint64_t bytes) {
  Buffer buffer = TRY(Buffer::Allocate(kernels_.device(), bytes, MemoryKind::kDownload));
  std::memset(buffer.data(), 0xcd, bytes);
  return buffer;
}

Status Workbench::Run(FunctionRef<Status(Commands&)> record) {
  Commands commands = TRY(Commands::Create(kernels_.device()));
  TRY(commands.Begin());
  TRY(record(commands));
  TRY(commands.End());
  const bool is_software = kernels_.device().traits().type == VK_PHYSICAL_DEVICE_TYPE_CPU;
  return commands.Run(is_software ? kSoftwareTimeoutNs : kTimeoutNs);
}

std::vector<float> CheckFloats(size_t count, CheckValues values, uint64_t seed) {
  std::vector<float> floats((count + 31) / 32 * 32);
  Random random(seed, 1);
  if (values == CheckValues::kVanishing) {
    for (size_t i = 0; i < floats.size(); i += 32) MakeGroupVanish(floats.data() + i, random);
    floats.resize(count);
    return floats;
  }
  FillNormal(seed, 0, 0, floats);
  if (values == CheckValues::kHostile) {
    for (size_t i = 0; i < floats.size(); i += 32)
      MakeGroupHostile(random.NextU32(), floats.data() + i, random);
    for (float& value : floats) MakeValueHostile(value, random);
  }
  floats.resize(count);
  return floats;
}

std::vector<uint32_t> CheckWords(size_t count, uint64_t seed) {
  std::vector<uint32_t> words(count);
  Random random(seed, 2);
  for (uint32_t& word : words) word = random.NextU32();
  return words;
}

Status CompareFloats(std::string_view what, std::span<const float> want,
                     std::span<const float> got) {
  for (size_t i = 0; i < want.size(); ++i) {
    const auto a = std::bit_cast<uint32_t>(want[i]);
    const auto b = std::bit_cast<uint32_t>(got[i]);
    if (a != b && !(IsNan(a) && IsNan(b))) return Differs(what, i, want.size(), a, b);
  }
  return Ok();
}

Status CompareWords(std::string_view what, std::span<const uint32_t> want,
                    std::span<const uint32_t> got) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i] != got[i]) return Differs(what, i, want.size(), want[i], got[i]);
  }
  return Ok();
}

}  // namespace aster::vulkan
