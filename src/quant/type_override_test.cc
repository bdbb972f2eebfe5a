// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/type_override.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace aster::quant {
namespace {

using gguf::TensorType;
using ::testing::HasSubstr;

bool Matches(std::string pattern, std::string_view name) {
  return TypeOverride{std::move(pattern), TensorType::kQ8_0}.Matches(name);
}

TEST(TypeOverride, PartsMatchWholeParts) {
  EXPECT_TRUE(Matches("attn_v", "blk.7.attn_v.weight"));
  EXPECT_TRUE(Matches("attn_v.weight", "blk.7.attn_v.weight"));
  EXPECT_TRUE(Matches("blk.7", "blk.7.attn_v.weight"));
  EXPECT_TRUE(Matches("output.weight", "output.weight"));
  EXPECT_FALSE(Matches("output", "blk.0.attn_output.weight"));
  EXPECT_FALSE(Matches("blk.7", "blk.70.attn_v.weight"));
  EXPECT_FALSE(Matches("attn_v.weight.more", "blk.7.attn_v.weight"));
  EXPECT_FALSE(Matches("", "output.weight"));
}

TEST(TypeOverride, StarsAndQuestionMarks) {
  EXPECT_TRUE(Matches("ffn_*", "blk.7.ffn_down_exps.weight"));
  EXPECT_TRUE(Matches("blk.*.attn_?", "blk.12.attn_q.weight"));
  EXPECT_TRUE(Matches("*_exps", "blk.7.ffn_down_exps.weight"));
  EXPECT_TRUE(Matches("f*_d*n", "blk.7.ffn_down.weight"));
  EXPECT_TRUE(Matches("*", "anything"));
  EXPECT_FALSE(Matches("attn_?", "blk.7.attn_qkv.weight"));
  EXPECT_FALSE(Matches("blk.*.weight", "blk.7.attn_v.weight")) << "a star stays within its part";
}

TEST(TypeOverride, ManyStarsTakeNoTime) {
  const std::string name(2000, 'a');
  std::string pattern;
  for (int i = 0; i < 1000; ++i) pattern += "*a";
  EXPECT_TRUE(Matches(pattern, name));
  EXPECT_FALSE(Matches(pattern + "b", name));
}

TEST(TypeOverride, Parse) {
  const auto parsed = TypeOverride::Parse("blk.*.attn_v=q6_k");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->pattern, "blk.*.attn_v");
  EXPECT_EQ(parsed->type, TensorType::kQ6_K);
}

TEST(TypeOverride, SaysWhatIsWrong) {
  EXPECT_THAT(TypeOverride::Parse("attn_v").error().message(), HasSubstr("PATTERN=TYPE"));
  EXPECT_THAT(TypeOverride::Parse("=Q8_0").error().message(), HasSubstr("PATTERN=TYPE"));
  EXPECT_THAT(TypeOverride::Parse("attn_v=Q9").error().message(), HasSubstr("Q9"));
  EXPECT_THAT(TypeOverride::Parse("attn_v=IQ1_S").error().message(), HasSubstr("IQ1_S"));
  EXPECT_FALSE(TypeOverride::Parse("attn_v=").ok());
}

}  // namespace
}  // namespace aster::quant
