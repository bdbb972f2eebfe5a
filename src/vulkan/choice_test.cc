// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/choice.h"

#include <gtest/gtest.h>

namespace aster::vulkan {
namespace {

TEST(Choice, NothingIsTheFirstThatIsGoodEnough) {
  EXPECT_EQ(ParseGpuChoice(std::nullopt).value(), GpuChoice{});
  EXPECT_EQ(ParseGpuChoice("").value(), GpuChoice{});
}

TEST(Choice, OffAndNumbers) {
  EXPECT_EQ(ParseGpuChoice("off").value(), (GpuChoice{GpuChoice::Kind::kOff, 0}));
  EXPECT_EQ(ParseGpuChoice("0").value(), (GpuChoice{GpuChoice::Kind::kIndex, 0}));
  EXPECT_EQ(ParseGpuChoice("17").value(), (GpuChoice{GpuChoice::Kind::kIndex, 17}));
}

TEST(Choice, WhatIsNeitherIsRefused) {
  for (const char* text : {"on", "-1", "1x", " 1", "4294967296", "OFF"}) {
    const auto choice = ParseGpuChoice(text);
    ASSERT_FALSE(choice.ok()) << text;
    EXPECT_EQ(choice.error().code(), Code::kInvalidArgument);
    EXPECT_NE(choice.error().message().find(text), std::string::npos);
  }
}

}  // namespace
}  // namespace aster::vulkan
