// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/number_grammar.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grammar/matcher.h"

namespace aster::grammar {
namespace {

class Numbers {
 public:
  explicit Numbers(const NumberRange& range) {
    const RuleId root = grammar_.AddRule();
    const auto added = AddNumbers(range, grammar_);
    EXPECT_TRUE(added.ok());
    if (added.ok()) grammar_.AddAlternative(root, {*added});
    EXPECT_TRUE(grammar_.Finish().ok());
    matcher_.emplace(grammar_);
  }
  bool Has(std::string_view text) {
    StateId state = matcher_->start();
    for (const char c : text) state = matcher_->Next(state, static_cast<uint8_t>(c));
    return matcher_->CanEnd(state);
  }

 private:
  Grammar grammar_;
  std::optional<Matcher> matcher_;
};

NumberBound Bound(std::string_view text, bool is_excluded = false) {
  return {.value = *ParseDecimal(text), .is_excluded = is_excluded};
}

TEST(Decimal, IsWhatItSays) {
  const auto text = [](std::string_view of) {
    const auto decimal = ParseDecimal(of);
    if (!decimal) return std::string("none");
    return fmt::format("{}{}.{}", decimal->is_negative ? "-" : "", decimal->whole,
                       decimal->fraction);
  };
  EXPECT_EQ(text("12"), "12.");
  EXPECT_EQ(text("-012.50"), "-12.5");
  EXPECT_EQ(text("-0.0"), "0.");
  EXPECT_EQ(text("1e-7"), "0.0000001");
  EXPECT_EQ(text("1.25e+1"), "12.5");
  EXPECT_EQ(text("12e3"), "12000.");
  EXPECT_EQ(text("1.5E2"), "150.");
  for (const std::string_view bad : {"", "-", "x", "1e", "1e999999999999", "1.x", ".5", "1e-300"})
    EXPECT_EQ(text(bad), "none") << bad;
  EXPECT_LT(Compare(*ParseDecimal("-3"), *ParseDecimal("-2.5")), 0);
  EXPECT_GT(Compare(*ParseDecimal("0.25"), *ParseDecimal("0.2")), 0);
  EXPECT_EQ(Compare(*ParseDecimal("1.0"), *ParseDecimal("1")), 0);
}

// Every whole number around the bounds, compared with arithmetic.
TEST(Numbers, WholeOnesBetweenBounds) {
  constexpr std::pair<int, int> kBounds[] = {{0, 0},     {1, 9},  {7, 123}, {-5, 5},   {-120, -7},
                                             {99, 1001}, {-1, 0}, {10, 99}, {-250, 13}};
  for (const auto& [low, high] : kBounds) {
    for (const uint32_t multiple : {1u, 3u, 7u, 10u}) {
      for (const bool excluded : {false, true}) {
        NumberRange range{.is_integer = true, .multiple = multiple};
        range.RaiseLow(Bound(std::to_string(low - (excluded ? 1 : 0)), excluded));
        range.LowerHigh(Bound(std::to_string(high + (excluded ? 1 : 0)), excluded));
        const int step = static_cast<int>(multiple);
        bool any = false;
        for (int value = low; value <= high; ++value) any |= value % step == 0;
        if (!any) {
          Grammar grammar;
          EXPECT_FALSE(AddNumbers(range, grammar).ok());
          continue;
        }
        Numbers numbers(range);
        for (int value = -1100; value <= 1100; ++value) {
          const bool is_in = value >= low && value <= high && value % step == 0;
          ASSERT_EQ(numbers.Has(std::to_string(value)), is_in)
              << value << " in " << low << ".." << high << " of " << multiple;
        }
        for (const std::string_view odd : {"-0", "00", "01", "", "-", "1.0", "1e1"})
          EXPECT_FALSE(numbers.Has(odd)) << odd;
      }
    }
  }
}

TEST(Numbers, WholeOnesWithOneBoundOrFractions) {
  NumberRange low{.is_integer = true};
  low.RaiseLow(Bound("2.5"));
  Numbers above(low);
  EXPECT_FALSE(above.Has("2"));
  EXPECT_TRUE(above.Has("3"));
  EXPECT_TRUE(above.Has("9999999999999999"));
  EXPECT_FALSE(above.Has("10000000000000000"));
  EXPECT_FALSE(above.Has("-3"));
  NumberRange high{.is_integer = true};
  high.LowerHigh(Bound("-2.5"));
  Numbers below(high);
  EXPECT_FALSE(below.Has("-2"));
  EXPECT_TRUE(below.Has("-3"));
  EXPECT_FALSE(below.Has("0"));
}

// Hundredths around the bounds, compared with arithmetic of whole numbers.
TEST(Numbers, FractionsBetweenBounds) {
  const auto text = [](int hundredths, int digits) {
    const int size = std::abs(hundredths);
    std::string written = fmt::format("{}{}", hundredths < 0 ? "-" : "", size / 100);
    if (digits == 1) written += fmt::format(".{}", size % 100 / 10);
    if (digits == 2) written += fmt::format(".{:02}", size % 100);
    if (digits == 3) written += fmt::format(".{:02}0", size % 100);
    return written;
  };
  constexpr std::pair<int, int> kBounds[] = {{0, 0},       {0, 100},  {25, 26}, {-50, 50},
                                             {-325, -101}, {99, 301}, {-1, 0},  {110, 190},
                                             {105, 105},   {0, 1250}};
  for (const auto& [low, high] : kBounds) {
    for (int kinds = 0; kinds < 4; ++kinds) {
      const bool low_out = (kinds & 1) != 0;
      const bool high_out = (kinds & 2) != 0;
      NumberRange range;
      range.RaiseLow(Bound(text(low, 2), low_out));
      range.LowerHigh(Bound(text(high, 2), high_out));
      if (low == high && kinds != 0) {
        Grammar grammar;
        EXPECT_FALSE(AddNumbers(range, grammar).ok());
        continue;
      }
      Numbers numbers(range);
      for (int value = -400; value <= 1300; ++value) {
        const bool is_in =
            (low_out ? value > low : value >= low) && (high_out ? value < high : value <= high);
        for (const int digits : {0, 1, 2, 3}) {
          if (digits == 0 && value % 100 != 0) continue;
          if (digits == 1 && value % 10 != 0) continue;
          ASSERT_EQ(numbers.Has(text(value, digits)), is_in)
              << text(value, digits) << " in " << low << ".." << high << " kinds " << kinds;
        }
      }
      for (const std::string_view odd : {"-0", "-0.0", "00", "1.", ".5", "1e1", ""})
        EXPECT_FALSE(numbers.Has(odd)) << odd;
    }
  }
}

TEST(Numbers, FewDigitsBehindThePoint) {
  NumberRange range{.fraction_digits = 2};
  range.RaiseLow(Bound("0"));
  Numbers money(range);
  EXPECT_TRUE(money.Has("3.25"));
  EXPECT_TRUE(money.Has("1234567.5"));
  EXPECT_FALSE(money.Has("3.255"));
  EXPECT_FALSE(money.Has("-1"));
}

TEST(Numbers, WhatIsReadStaysWithinTheBounds) {
  NumberRange range;
  range.LowerHigh(Bound("1000", /*is_excluded=*/true));
  Numbers numbers(range);
  EXPECT_TRUE(numbers.Has("999.99"));
  // Would be read as 1000.
  EXPECT_FALSE(numbers.Has("999.99999999999999999"));
}

}  // namespace
}  // namespace aster::grammar
