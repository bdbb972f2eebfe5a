// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/request_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

namespace aster::serve {
namespace {

TEST(RequestTrace, PhasesAndTokens) {
  RequestTrace trace(/*is_wanted=*/true, /*start_ns=*/1000);
  trace.Mark(RequestTrace::kQueued, 3000);
  trace.Mark(RequestTrace::kBegun, 6000);
  trace.AddToken(0, 10'000);
  trace.AddToken(1, 12'000);
  const auto json = nlohmann::json::parse(trace.ToJson({.id = "a\"b", .status = 200}, 15'000));
  EXPECT_EQ(json["otherData"]["id"], "a\"b");
  EXPECT_EQ(json["otherData"]["duration_us"], 14);
  std::map<std::string, std::pair<double, double>> spans;
  size_t tokens = 0;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] == "X") spans[event["name"]] = {event["ts"], event["dur"]};
    if (event["ph"] == "i") ++tokens;
  }
  EXPECT_EQ(tokens, 2);
  EXPECT_EQ(spans["preparing"], std::pair(0.0, 2.0));
  EXPECT_EQ(spans["waiting"], std::pair(2.0, 3.0));
  EXPECT_EQ(spans["prefill"], std::pair(5.0, 4.0));
  EXPECT_EQ(spans["answering"], std::pair(9.0, 5.0));
}

TEST(RequestTrace, OfARequestThatWasRefused) {
  const RequestTrace trace(/*is_wanted=*/true, /*start_ns=*/1000);
  const auto json = nlohmann::json::parse(trace.ToJson({.status = 400}, 2000));
  EXPECT_EQ(json["traceEvents"][0]["name"], "preparing");
  EXPECT_EQ(json["traceEvents"][0]["dur"], 1);
}

TEST(RequestTrace, ClientsDoNotChooseWhereItGoes) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "request_trace_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const SystemClock clock;
  const RequestTrace trace(/*is_wanted=*/true, clock.NowNs());
  const Status saved = trace.Save(folder.string(), {.id = "../../etc/passwd"}, clock);
  ASSERT_TRUE(saved.ok()) << saved.error().message();
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_THAT(entry.path().filename().string(), testing::HasSubstr("______etc_passwd"));
    ++count;
  }
  EXPECT_EQ(count, 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace aster::serve
