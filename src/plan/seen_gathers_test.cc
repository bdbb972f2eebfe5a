// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/seen_gathers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aster::plan {
namespace {

using testing::ElementsAre;

// Half of 16 layers, in frames of `rows` rows.
MeasuredSlice Half(uint32_t rows, double frame_waited_s, double token_waited_s = 0) {
  MeasuredSlice slice;
  slice.end = 16;
  slice.head = true;
  slice.part = 0.5;
  slice.chunk = {.seconds = 1, .rows = rows, .context = rows, .waited_s = frame_waited_s};
  if (token_waited_s > 0)
    slice.token = {.seconds = 0.1, .rows = 1, .context = 10, .waited_s = token_waited_s};
  return slice;
}

std::optional<SeenGathers> Find(const std::vector<std::vector<MeasuredSlice>>& measured) {
  std::vector<NodeAbility> nodes(measured.size());
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i].measured = measured[i];
  return FindGathers(nodes, 16);
}

TEST(SeenGathers, OfTheSlowestNodeCount) {
  const auto seen = Find({{Half(200, 0.09, 0.005), Half(20, 0.02)},
                          {},
                          {Half(210, 0.04, 0.007), Half(20, 0.03), Half(8, 0.01)}});
  ASSERT_TRUE(seen);
  EXPECT_THAT(seen->nodes, ElementsAre(0, 2));
  EXPECT_THAT(seen->parts, ElementsAre(0.5, 0.5));
  EXPECT_EQ(seen->layers, 1);
  EXPECT_EQ(seen->token_s, 0.005);
  EXPECT_EQ(seen->frame_s, 0.04);
  EXPECT_EQ(seen->rows, 210u);
}

TEST(SeenGathers, AreOfWholeGroups) {
  EXPECT_FALSE(Find({{Half(200, 0.09)}, {}}));
  EXPECT_FALSE(Find({{Half(200, 0.09)}, {Half(200, 0.09)}, {Half(200, 0.09)}}));
  // Older programs do not report waiting.
  EXPECT_FALSE(Find({{Half(200, 0.09)}, {Half(200, 0)}}));
  // Frames of different lengths are not compared.
  EXPECT_FALSE(Find({{Half(200, 0.09)}, {Half(20, 0.02)}}));
}

// Two nodes send each other half of 64 kB for each row, in 66 gathers: they waited 0.2 ms for the
// message and 0.1 ms for a row's bytes.
TEST(SeenGathers, GathersTakeWhatTheyTook) {
  GroupProblem problem{
      .heads = 8, .layer_reads = 1e9, .gathers = 66, .gathered_bytes = 64'000, .chunk_tokens = 256};
  problem.nodes.resize(2, {.memory_bytes = uint64_t{1} << 40, .token_byte_s = 1e-10, .chunk_s = 1});
  problem.links.resize(4, {.message_s = 50e-6, .byte_s = 1e-8});
  const size_t both[] = {0, 1};
  const double row_s = 32'000 * 1e-8;
  const GroupAnswer expected = SearchShares(problem, both).value();
  EXPECT_NEAR(expected.exchange_s, 66 * 70e-6 + row_s, 1e-9);
  EXPECT_NEAR(expected.chunk_exchange_s, 66 * 70e-6 + 256 * row_s, 1e-9);
  const double message_s = 66 * 0.2e-3, seen_row_s = 0.1e-3;
  CorrectGathers({.nodes = {0, 1},
                  .parts = {0.5, 0.5},
                  .token_s = message_s + seen_row_s,
                  .frame_s = message_s + 128 * seen_row_s,
                  .rows = 128},
                 problem);
  const GroupAnswer seen = SearchShares(problem, both).value();
  EXPECT_NEAR(seen.exchange_s, message_s + seen_row_s, 1e-9);
  EXPECT_NEAR(seen.chunk_exchange_s, message_s + 256 * seen_row_s, 1e-9);
  EXPECT_NEAR(seen.chunk_s - seen.chunk_exchange_s, expected.chunk_s - expected.chunk_exchange_s,
              1e-9);
  // Without times of tokens the measured latency of messages counts. A byte's time is limited to 30
  // times the measured one.
  problem.seen_links.clear();
  CorrectGathers({.nodes = {0, 1}, .parts = {0.5, 0.5}, .frame_s = 1e6, .rows = 128}, problem);
  EXPECT_NEAR(problem.gather_link(0, 1).byte_s, 30e-8, 1e-12);
}

}  // namespace
}  // namespace aster::plan
