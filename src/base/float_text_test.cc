// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/float_text.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "base/random.h"

namespace aster {
namespace {

template <typename Float>
struct Read {
  size_t length = 0;
  std::errc error = {};
  Float value = -1;
};

template <typename Float>
Read<Float> ReadAs(std::string_view text, std::chars_format format = std::chars_format::general) {
  Read<Float> read;
  const auto [end, error] =
      FloatFromChars(text.data(), text.data() + text.size(), read.value, format);
  read.length = static_cast<size_t>(end - text.data());
  read.error = error;
  return read;
}

TEST(FloatText, ReadsTheNumberAtTheBeginning) {
  EXPECT_EQ(ReadAs<double>("1.5").value, 1.5);
  EXPECT_EQ(ReadAs<double>("-2e-3,").value, -2e-3);
  EXPECT_EQ(ReadAs<double>("-2e-3,").length, 5u);
  EXPECT_EQ(ReadAs<double>(".5").value, 0.5);
  EXPECT_EQ(ReadAs<double>("5.").length, 2u);
  EXPECT_EQ(ReadAs<double>("5.E").length, 2u);
  EXPECT_EQ(ReadAs<double>("1e+").length, 1u);
  EXPECT_EQ(ReadAs<double>("0x10").length, 1u);
  EXPECT_EQ(ReadAs<float>("16777217").value, 16777216.0f);
  EXPECT_EQ(ReadAs<double>("-inf").value, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(ReadAs<double>("Infinity!").length, 8u);
  EXPECT_TRUE(std::isnan(ReadAs<double>("nan(1_a)").value));
  EXPECT_EQ(ReadAs<double>("nan(1_a)").length, 8u);
  EXPECT_EQ(ReadAs<double>("nan(").length, 3u);
}

TEST(FloatText, WhatBeginsWithNoNumberIsInvalid) {
  for (const char* text : {"", "-", "+1", " 1", ".", "-.", "e5", ".e5", "in", "--1"}) {
    EXPECT_EQ(ReadAs<double>(text).error, std::errc::invalid_argument) << text;
    EXPECT_EQ(ReadAs<double>(text).length, 0u) << text;
    EXPECT_EQ(ReadAs<double>(text).value, -1) << text;
  }
}

TEST(FloatText, ExponentsAreNoneOfAFixedNumber) {
  EXPECT_EQ(ReadAs<double>("12e3", std::chars_format::fixed).value, 12);
  EXPECT_EQ(ReadAs<double>("12e3", std::chars_format::fixed).length, 2u);
}

TEST(FloatText, WhatIsTooLargeOrTooSmallIsOutOfRange) {
  for (const char* text : {"1e400", "-1e400", "1e-400", "-0.0e-400x1e9", "123e-9999"}) {
    const bool is_zero = std::string_view(text).starts_with("-0");
    const std::errc wanted = is_zero ? std::errc() : std::errc::result_out_of_range;
    EXPECT_EQ(ReadAs<double>(text).error, wanted) << text;
  }
  EXPECT_EQ(ReadAs<float>("1e39").error, std::errc::result_out_of_range);
  // Subnormal numbers are numbers.
  EXPECT_EQ(ReadAs<double>("5e-324").value, std::numeric_limits<double>::denorm_min());
}

#if defined(__cpp_lib_to_chars)
TEST(FloatText, IsWhatTheStandardLibraryReads) {
  constexpr std::string_view kCharacters = "0123456789012345678900..--eE+infa_()x ";
  Random random(7);
  for (int i = 0; i < 200'000; ++i) {
    std::string text(random.NextBelow(14), ' ');
    for (char& c : text) c = kCharacters[random.NextBelow(kCharacters.size())];
    for (const auto format : {std::chars_format::general, std::chars_format::fixed}) {
      Read<double> wanted;
      const auto [end, error] =
          std::from_chars(text.data(), text.data() + text.size(), wanted.value, format);
      const Read<double> read = ReadAs<double>(text, format);
      ASSERT_EQ(read.length, static_cast<size_t>(end - text.data())) << text;
      ASSERT_EQ(read.error, error) << text;
      const bool is_equal =
          read.value == wanted.value && std::signbit(read.value) == std::signbit(wanted.value);
      ASSERT_TRUE(is_equal || (std::isnan(read.value) && std::isnan(wanted.value))) << text;
    }
  }
}
#endif

}  // namespace
}  // namespace aster
