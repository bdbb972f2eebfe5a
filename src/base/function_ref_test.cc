// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/function_ref.h"

#include <gtest/gtest.h>

#include <string>

namespace aster {
namespace {

int Apply(FunctionRef<int(int)> function, int value) { return function(value); }
int Double(int value) { return 2 * value; }

TEST(FunctionRef, CallsLambdasAndFunctions) {
  int added = 0;
  EXPECT_EQ(Apply([&](int value) { return added = value + 1; }, 3), 4);
  EXPECT_EQ(added, 4);
  EXPECT_EQ(Apply(Double, 21), 42);
  EXPECT_EQ(Apply(&Double, 21), 42);
}

TEST(FunctionRef, BorrowsTheCallable) {
  struct Counter {
    int calls = 0;
    int operator()(int value) { return calls += value; }
  } counter;
  FunctionRef<int(int)> ref = counter;
  const FunctionRef<int(int)> copy = ref;
  ref(1);
  copy(2);
  EXPECT_EQ(counter.calls, 3);
}

TEST(FunctionRef, TakesConstCallablesAndPassesReferences) {
  const auto append = [](std::string& text) { text += "b"; };
  const FunctionRef<void(std::string&)> ref = append;
  std::string text = "a";
  ref(text);
  EXPECT_EQ(text, "ab");
}

}  // namespace
}  // namespace aster
