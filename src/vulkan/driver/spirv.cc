// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/driver/spirv.h"

#include <cstddef>

namespace aster::vulkan {
namespace {

// From SPIR-V's specification, section 3.
constexpr uint32_t kMagic = 0x07230203;
constexpr size_t kHeaderWords = 5;
constexpr uint32_t kOpEntryPoint = 15;
constexpr uint32_t kOpExecutionMode = 16;
constexpr uint32_t kOpCapability = 17;

struct Mode {
  uint32_t capability;
  uint32_t mode;
};
constexpr Mode kRoundingModeRte = {4467, 4462};
constexpr Mode kSignedZeroInfNanPreserve = {4466, 4461};
constexpr Mode kDenormFlushToZero = {4465, 4460};
constexpr uint32_t kFloatBits = 32;

uint32_t Opcode(uint32_t word) { return word & 0xffff; }
uint32_t Length(uint32_t word) { return word >> 16; }

void Append(std::vector<uint32_t>& words, uint32_t opcode, std::initializer_list<uint32_t> rest) {
  words.push_back(static_cast<uint32_t>(rest.size() + 1) << 16 | opcode);
  words.insert(words.end(), rest);
}

// The identifier of the entry point; 0 if there is none or an instruction is invalid.
uint32_t EntryPoint(std::span<const uint32_t> words) {
  uint32_t entry = 0;
  if (words.size() < kHeaderWords || words[0] != kMagic) return 0;
  for (size_t i = kHeaderWords; i < words.size(); i += Length(words[i])) {
    if (Length(words[i]) == 0 || Length(words[i]) > words.size() - i) return 0;
    if (Opcode(words[i]) == kOpEntryPoint && Length(words[i]) > 2) entry = words[i + 2];
  }
  return entry;
}

}  // namespace

Result<std::vector<uint32_t>> WithFloatModes(std::span<const uint32_t> words,
                                             const FloatModes& modes) {
  const uint32_t entry = EntryPoint(words);
  if (entry == 0) return DataLoss("a compiled shader is damaged");
  std::vector<uint32_t> capabilities;
  std::vector<uint32_t> executions;
  const auto add = [&](const Mode& mode) {
    Append(capabilities, kOpCapability, {mode.capability});
    Append(executions, kOpExecutionMode, {entry, mode.mode, kFloatBits});
  };
  if (modes.round_to_even) add(kRoundingModeRte);
  if (modes.keep_special_values) add(kSignedZeroInfNanPreserve);
  if (modes.flush_denormals) add(kDenormFlushToZero);

  // Capabilities come first; execution modes follow the entry points.
  std::vector<uint32_t> out(words.begin(), words.begin() + kHeaderWords);
  out.insert(out.end(), capabilities.begin(), capabilities.end());
  for (size_t i = kHeaderWords; i < words.size();) {
    const auto instruction = words.subspan(i, Length(words[i]));
    out.insert(out.end(), instruction.begin(), instruction.end());
    if (Opcode(words[i]) == kOpEntryPoint)
      out.insert(out.end(), executions.begin(), executions.end());
    i += instruction.size();
  }
  return out;
}

}  // namespace aster::vulkan
