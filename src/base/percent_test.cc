// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/percent.h"

#include <gtest/gtest.h>

namespace aster {
namespace {

TEST(Percent, OnlyWholeEscapesAreRead) {
  EXPECT_EQ(WithoutPercents("org%2Fnova"), "org/nova");
  EXPECT_EQ(WithoutPercents("%e2%82%ac%20"), "\u20ac ");
  EXPECT_EQ(WithoutPercents("%2541"), "%41");
  for (const std::string_view text : {"", "%", "%2", "%2g", "%-1", "a%", "100%", "%%"})
    EXPECT_EQ(WithoutPercents(text), text);
}

}  // namespace
}  // namespace aster
