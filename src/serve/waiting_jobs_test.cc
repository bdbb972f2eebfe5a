// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/waiting_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace aster::serve {
namespace {

std::unique_ptr<Job> JobOf(std::string client, int32_t number) {
  auto job = std::make_unique<Job>();
  job->client = std::move(client);
  job->prompt = {number};
  return job;
}

std::vector<int32_t> TakeAll(WaitingJobs& waiting) {
  std::vector<int32_t> numbers;
  while (const auto job = waiting.TakeNext()) numbers.push_back(job->prompt.front());
  EXPECT_EQ(waiting.size(), 0U);
  return numbers;
}

// A key with many users has as many turns as any other.
TEST(WaitingJobs, KeysTakeTurnsAndThenUsers) {
  WaitingJobs waiting;
  for (int32_t i = 0; i < 4; ++i) waiting.Add(JobOf("a\nuser" + std::to_string(i), i));
  waiting.Add(JobOf("a\nuser0", 4));
  waiting.Add(JobOf("b\n", 10));
  waiting.Add(JobOf("b\n", 11));
  waiting.Add(JobOf("c\nx", 20));
  EXPECT_EQ(waiting.size(), 8U);
  EXPECT_THAT(TakeAll(waiting), testing::ElementsAre(0, 10, 20, 1, 11, 2, 3, 4));
  EXPECT_EQ(waiting.TakeNext(), nullptr);
}

TEST(WaitingJobs, SomeAreTaken) {
  WaitingJobs waiting;
  for (int32_t i = 0; i < 6; ++i) waiting.Add(JobOf(i < 4 ? "a\nu" : "b\n", i));
  EXPECT_EQ(waiting.TakeIf([](const Job& job) { return job.prompt.front() > 2; }).size(), 3U);
  EXPECT_EQ(waiting.size(), 3U);
  EXPECT_TRUE(waiting.HasOfSameKey("a\nanother"));
  EXPECT_FALSE(waiting.HasOfSameKey("b\n"));
  EXPECT_THAT(TakeAll(waiting), testing::ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace aster::serve
