// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/terminal/columns.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace aster::cli {
namespace {

TEST(Columns, OfCharacters) {
  EXPECT_EQ(ColumnsOf(""), 0u);
  EXPECT_EQ(ColumnsOf("attic"), 5u);
  EXPECT_EQ(ColumnsOf("Küche"), 5u);
  EXPECT_EQ(ColumnsOf("Ku\u0308che"), 5u);  // the dots are a combining mark
  EXPECT_EQ(ColumnsOf("屋根裏"), 6u);
  EXPECT_EQ(ColumnsOf("🦊"), 2u);
  EXPECT_EQ(ColumnsOf("█░"), 2u);
}

TEST(Columns, Cutting) {
  EXPECT_EQ(CutToColumns("attic", 5), "attic");
  EXPECT_EQ(CutToColumns("attic", 4), "att…");
  EXPECT_EQ(CutToColumns("attic", 1), "…");
  EXPECT_EQ(CutToColumns("attic", 0), "");
  EXPECT_EQ(CutToColumns("屋根裏", 5), "屋根…");
  EXPECT_EQ(CutToColumns("屋根裏", 4), "屋…");
  EXPECT_EQ(FitToColumns("屋根裏", 4), "屋… ");
  EXPECT_EQ(FitToColumns("ab", 4), "ab  ");
}

TEST(Columns, WhateverComesFits) {
  const std::string text = "a屋\xff\u0301\xf0\x9f🦊z\xe5\xb1";
  for (size_t columns = 0; columns < 20; ++columns) {
    EXPECT_LE(ColumnsOf(CutToColumns(text, columns)), columns);
    EXPECT_EQ(ColumnsOf(FitToColumns(text, columns)), columns);
    // Characters are never cut in two.
    const std::string valid = ToValidUtf8(text);
    EXPECT_TRUE(IsValidUtf8(CutToColumns(valid, columns)));
  }
}

}  // namespace
}  // namespace aster::cli
