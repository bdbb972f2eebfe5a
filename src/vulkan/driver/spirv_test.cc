// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/driver/spirv.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "vulkan/driver/shaders.h"

namespace aster::vulkan {
namespace {

std::span<const uint32_t> Shader() { return BuiltInShader("arithmetic"); }

// Whether the words contain the instructions, one after the other.
bool Contains(const std::vector<uint32_t>& words, std::initializer_list<uint32_t> part) {
  return std::search(words.begin(), words.end(), part.begin(), part.end()) != words.end();
}

TEST(Spirv, WithoutModesNothingChanges) {
  const auto words = WithFloatModes(Shader(), {}).value();
  EXPECT_TRUE(std::equal(words.begin(), words.end(), Shader().begin(), Shader().end()));
}

TEST(Spirv, EveryModeBringsItsCapability) {
  const auto words =
      WithFloatModes(Shader(),
                     {.round_to_even = true, .keep_special_values = true, .flush_denormals = true})
          .value();
  // OpCapability RoundingModeRTE, SignedZeroInfNanPreserve, DenormFlushToZero, right at the start.
  EXPECT_EQ((std::vector<uint32_t>(words.begin() + 5, words.begin() + 11)),
            (std::vector<uint32_t>{0x20011, 4467, 0x20011, 4466, 0x20011, 4465}));
  for (const uint32_t mode : {4462u, 4461u, 4460u}) {
    const auto at = std::search_n(words.begin(), words.end(), 1, mode);
    ASSERT_NE(at, words.end());
    EXPECT_EQ(*(at - 2), 0x40010u);  // OpExecutionMode with four words
    EXPECT_EQ(*(at + 1), 32u);
  }
  EXPECT_EQ(words.size(), Shader().size() + 3 * 6);
}

TEST(Spirv, ModesAreAddedOneByOne) {
  const auto words = WithFloatModes(Shader(), {.round_to_even = true}).value();
  EXPECT_TRUE(Contains(words, {0x20011, 4467}));
  EXPECT_FALSE(Contains(words, {0x20011, 4466}));
  EXPECT_FALSE(Contains(words, {0x20011, 4465}));
}

TEST(Spirv, DamagedWordsAreRefused) {
  std::vector<uint32_t> words(Shader().begin(), Shader().end());
  EXPECT_FALSE(WithFloatModes({}, {}).ok());
  words.push_back(0x50000);  // the first of five words
  EXPECT_FALSE(WithFloatModes(words, {}).ok());
  words.pop_back();
  words[5] &= 0xffff;  // an instruction of no words
  EXPECT_FALSE(WithFloatModes(words, {}).ok());
  words[0] = 0;
  EXPECT_FALSE(WithFloatModes(words, {}).ok());
}

}  // namespace
}  // namespace aster::vulkan
