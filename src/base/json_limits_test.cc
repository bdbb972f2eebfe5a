// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/json_limits.h"

#include <gtest/gtest.h>

#include <string>

namespace aster {
namespace {

bool Fits(std::string_view text) { return JsonLimits().Check(text).ok(); }

// {"0":0,"1":0,…}
std::string ObjectOf(size_t members) {
  std::string text = "{";
  for (size_t i = 0; i < members; ++i) {
    if (i > 0) text += ',';
    text += '"' + std::to_string(i) + "\":0";
  }
  return text + '}';
}

TEST(JsonLimits, Depth) {
  const size_t most = JsonLimits::kMaxDepth;
  EXPECT_TRUE(Fits(std::string(most, '[') + std::string(most, ']')));
  EXPECT_FALSE(Fits(std::string(most + 1, '[')));
  EXPECT_FALSE(Fits(std::string(1 << 20, '{')));
  // Siblings are not nested, and brackets in strings do not count.
  std::string wide = "[";
  for (int i = 0; i < 1000; ++i) wide += "[],{},";
  EXPECT_TRUE(Fits(wide + "0]"));
  EXPECT_TRUE(Fits('"' + std::string(1000, '[') + '"'));
  EXPECT_TRUE(Fits("\"\\\"" + std::string(1000, '[') + '"'));
  EXPECT_FALSE(Fits("\"\\\\\"" + std::string(1000, '[')));
}

TEST(JsonLimits, Members) {
  EXPECT_TRUE(Fits(ObjectOf(5000)));
  EXPECT_FALSE(Fits(ObjectOf(6000)));
  // Lists have no limit, and commas in strings do not count.
  std::string list = "[0";
  for (int i = 0; i < 100'000; ++i) list += ",0";
  EXPECT_TRUE(Fits(list + ']'));
  EXPECT_TRUE(Fits("{\"a\":\"" + std::string(100'000, ',') + "\"}"));
  // An object continues to count after a list within it.
  const std::string half = ObjectOf(3500);
  EXPECT_TRUE(Fits(half));
  EXPECT_FALSE(Fits(half.substr(0, half.size() - 1) + ",\"x\":[1,2]," + half.substr(1)));
}

TEST(JsonLimits, DocumentsOfOneRequestCountTogether) {
  JsonLimits limits;
  const std::string half = ObjectOf(4500);
  EXPECT_TRUE(limits.Check(half).ok());
  EXPECT_FALSE(limits.Check(half).ok());
}

TEST(JsonLimits, WhatIsNoJson) {
  for (const char* text : {"", "]]]]]", "}{", ",,,,", "\"", "\"\\", "{", "\\"})
    EXPECT_TRUE(Fits(text));
}

}  // namespace
}  // namespace aster
