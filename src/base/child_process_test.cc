// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <utility>

namespace aster {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

ChildProcess Shell(const std::string& script, int64_t exit_grace_ns = 2 * kSecondNs) {
  auto child =
      ChildProcess::Start({.command = {"/bin/sh", "-c", script}, .exit_grace_ns = exit_grace_ns});
  CHECK(child.ok());
  return *std::move(child);
}

TEST(ChildProcess, AnswersItsInput) {
  ChildProcess child = Shell("while read line; do echo \"heard $line\"; done; echo bye");
  ASSERT_TRUE(child.WriteInput("one\ntwo\n").ok());
  EXPECT_EQ(child.ReadLine(10 * kSecondNs).value(), "heard one");
  EXPECT_EQ(child.ReadLine(10 * kSecondNs).value(), "heard two");
  EXPECT_EQ(child.Ended(), std::nullopt);
  child.CloseInput();
  EXPECT_EQ(child.ReadLine(10 * kSecondNs).value(), "bye");
  EXPECT_EQ(child.ReadLine(10 * kSecondNs).error().code(), Code::kOutOfRange);
}

TEST(ChildProcess, WaitsNoLongerThanAsked) {
  ChildProcess child = Shell("read line; printf half; read line");
  EXPECT_EQ(child.ReadLine(1'000'000).error().code(), Code::kDeadlineExceeded);
  ASSERT_TRUE(child.WriteInput("go\n").ok());
  EXPECT_EQ(child.ReadLine(50'000'000).error().code(), Code::kDeadlineExceeded);
}

TEST(ChildProcess, SaysHowItEnded) {
  const auto end_of = [](const std::string& script) {
    ChildProcess child = Shell(script);
    while (!child.Ended()) static_cast<void>(child.ReadLine(1'000'000));
    return *child.Ended();
  };
  EXPECT_EQ(end_of("exit 3"), "exit status 3");
  EXPECT_EQ(end_of("kill -9 $$"), "killed by signal 9");
}

TEST(ChildProcess, EndsWithItsObject) {
  pid_t stubborn = 0;
  {
    ChildProcess child = Shell("trap '' TERM; echo ready; while :; do read x || sleep 0.05; done",
                               /*exit_grace_ns=*/100'000'000);
    ASSERT_EQ(child.ReadLine(10 * kSecondNs).value(), "ready");
    stubborn = child.pid();
    EXPECT_EQ(kill(stubborn, 0), 0);
  }
  EXPECT_NE(kill(stubborn, 0), 0);
}

TEST(ChildProcess, LinesHaveABound) {
  ChildProcess child = Shell("while :; do printf '%01000d' 0; done");
  EXPECT_EQ(child.ReadLine(20 * kSecondNs).error().code(), Code::kDataLoss);
}

TEST(ChildProcess, WritingToOneThatIsGoneIsAnError) {
  ChildProcess child = Shell("exit 0");
  while (!child.Ended()) static_cast<void>(child.ReadLine(1'000'000));
  EXPECT_FALSE(child.WriteInput("hello\n").ok());
}

TEST(ChildProcess, AProgramThatIsNotThere) {
  const auto child = ChildProcess::Start({.command = {"/no/such/program"}});
  ASSERT_FALSE(child.ok());
  EXPECT_THAT(child.error().message(), testing::HasSubstr("/no/such/program"));
}

TEST(ChildProcess, RunsWhereItIsPinned) {
  auto child = ChildProcess::Start(
      {.command = {"/bin/sh", "-c", "grep Cpus_allowed_list /proc/self/status"}, .cpus = {0}});
  ASSERT_TRUE(child.ok());
  EXPECT_THAT(child->ReadLine(10 * kSecondNs).value(), testing::EndsWith("\t0"));
}

}  // namespace
}  // namespace aster
