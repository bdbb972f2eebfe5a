// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/competence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace aster::eval {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// One letter per question: right, wrong, skipped, or not asked (a space).
Results ResultsOf(const std::string& letters, const std::string& questions = "q") {
  Results results;
  results.header.questions = questions;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (letters[i] == ' ') continue;
    results.results.push_back({.id = std::to_string(i),
                               .category = "",
                               .skipped = letters[i] == 's',
                               .right = letters[i] == 'r'});
  }
  return results;
}

TEST(WeightsByResults, AreOdds) {
  EXPECT_THAT(
      WeightsByResults(std::vector{ResultsOf("rrrrrrrrrrw"), ResultsOf("rrrrrrrrrww")}).value(),
      ElementsAre(10.5 / 1.5, 9.5 / 2.5));
}

TEST(WeightsByResults, LeaveOutMuchWeakerMembers) {
  EXPECT_THAT(
      WeightsByResults(std::vector{ResultsOf("rrrrrrrrrw"), ResultsOf("rrrrrrrrww")}).value(),
      ElementsAre(9.5 / 1.5, 0));
}

TEST(WeightsByResults, AreOfWhatAllHaveAnswered) {
  EXPECT_THAT(WeightsByResults(std::vector{ResultsOf("rwrr"), ResultsOf("rws ")}).value(),
              ElementsAre(1, 1));
}

TEST(WeightsByResults, NeedTheSameQuestions) {
  EXPECT_THAT(
      WeightsByResults(std::vector{ResultsOf("r"), ResultsOf("r", "other")}).error().message(),
      HasSubstr("different files"));
  EXPECT_THAT(WeightsByResults(std::vector{ResultsOf("r "), ResultsOf(" r")}).error().message(),
              HasSubstr("no question"));
}

}  // namespace
}  // namespace aster::eval
