// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/choice.h"

#include <gtest/gtest.h>

namespace aster::vulkan {
namespace {

TEST(Choice, NothingIsTheFirstThatIsGoodEnough) {
  EXPECT_EQ(ParseGpuChoices(std::nullopt).value(), std::vector{GpuChoice{}});
  EXPECT_EQ(ParseGpuChoices("").value(), std::vector{GpuChoice{}});
}

TEST(Choice, OffAndNumbers) {
  using Kind = GpuChoice::Kind;
  EXPECT_EQ(ParseGpuChoices("off").value(), (std::vector{GpuChoice{Kind::kOff, 0}}));
  EXPECT_EQ(ParseGpuChoices("0").value(), (std::vector{GpuChoice{Kind::kIndex, 0}}));
  EXPECT_EQ(ParseGpuChoices("17").value(), (std::vector{GpuChoice{Kind::kIndex, 17}}));
  EXPECT_EQ(ParseGpuChoices("3,0").value(),
            (std::vector{GpuChoice{Kind::kIndex, 3}, GpuChoice{Kind::kIndex, 0}}));
}

TEST(Choice, WhatIsNeitherIsRefused) {
  for (const char* text : {"on", "-1", "1x", " 1", "4294967296", "OFF", "0,", ",0", "0,off"}) {
    const auto choice = ParseGpuChoices(text);
    ASSERT_FALSE(choice.ok()) << text;
    EXPECT_EQ(choice.error().code(), Code::kInvalidArgument);
    EXPECT_NE(choice.error().message().find(text), std::string::npos);
  }
}

}  // namespace
}  // namespace aster::vulkan
