// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/serve/cluster_watch.h"

#include <gtest/gtest.h>

#include <atomic>

namespace aster::cli {
namespace {

// Asks until the answer contains the text.
std::string Await(ClusterWatch& watch, std::string_view wanted) {
  SystemClock clock;
  std::string json;
  for (int i = 0; i < 2000; ++i) {
    json = watch.Json();
    if (json.find(wanted) != std::string::npos) break;
    clock.SleepFor(kNsPerMs);
  }
  return json;
}

TEST(ClusterWatch, AsksOnlyWhereThePageDoes) {
  std::atomic<int> looks = 0;
  ClusterWatch watch([&]() -> Result<ClusterSample> {
    ++looks;
    node::NodeView node;
    node.member.name = "rack";
    return ClusterSample{.taken_ns = looks, .nodes = {node}};
  });
  EXPECT_EQ(looks, 0);
  EXPECT_NE(Await(watch, "\"rack\"").find("\"answered\": false"), std::string::npos);
  EXPECT_GT(looks, 0);
}

TEST(ClusterWatch, SaysWhyThereAreNoNodes) {
  std::atomic<bool> fails = true;
  ClusterWatch watch([&]() -> Result<ClusterSample> {
    if (fails) return Error(Code::kUnavailable, "no node \"answers\"");
    return ClusterSample{};
  });
  EXPECT_EQ(watch.Json(), "{\"nodes\": []}\n");
  EXPECT_NE(Await(watch, "no node").find(R"("error":"no node \"answers\"")"), std::string::npos);
  fails = false;
  EXPECT_EQ(Await(watch, "\n  \"nodes\": []").find("error"), std::string::npos);
}

TEST(ClusterWatch, EndsWhileItWasNeverAsked) {
  const ClusterWatch watch([]() -> Result<ClusterSample> { return ClusterSample{}; });
}

}  // namespace
}  // namespace aster::cli
