// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// States of prompts (the head's input), from which embeddings are made: every route gives the bits
// of one machine.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "conduct/cluster_for_test.h"
#include "engine/pooler.h"
#include "engine/scheduler.h"

namespace aster::conduct {
namespace {

using model::Pooling;
using Vectors = std::vector<std::vector<float>>;

// Texts of one token, of less than a page, and of more than a frame.
std::vector<std::vector<int32_t>> Texts() {
  const std::vector<int32_t> tokens = model::RandomTokens(700, 298);
  return {{tokens.begin(), tokens.begin() + 1}, {tokens.begin(), tokens.begin() + 40}, tokens};
}

Vectors EmbeddedHere(Pooling pooling) {
  const auto whole = plan::TestModel::Get().MakeWhole();
  SystemClock clock;
  engine::Scheduler scheduler(*whole, nullptr, clock);
  return engine::Embed(scheduler, Texts(), pooling).value();
}

class EmbeddingsOnRoutes : public testing::TestWithParam<std::string> {};

TEST_P(EmbeddingsOnRoutes, HaveTheSameBits) {
  TestCluster cluster(3);
  const auto conductor = cluster.Conduct(GetParam());
  for (const Pooling pooling : {Pooling::kLast, Pooling::kFirst, Pooling::kMean}) {
    const Vectors expected = EmbeddedHere(pooling);
    // At the second time the KV caches hold prefixes of the texts.
    for (int time = 0; time < 2; ++time) {
      const auto vectors = engine::Embed(*conductor, Texts(), pooling);
      ASSERT_TRUE(vectors.ok()) << vectors.error().message();
      EXPECT_EQ(*vectors, expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of4Layers, EmbeddingsOnRoutes,
                         testing::Values("0:out", "0:1,2:out", "0:0,1:1,2:out",
                                         "0:1,2:out decode c", "a+b=0:out", "c=0:1,a+b=2:out"));

// A node of an earlier version does not support such requests.
TEST(EmbeddingsOnOldNodes, AreRefusedByNameAndAnswersAreNot) {
  TestCluster cluster(2);
  cluster.hub().LimitProtocol(plan::TestNode(2), wire::kDraftProtocol);
  const auto conductor = cluster.Conduct("0:1,2:out");
  const auto vectors = engine::Embed(*conductor, Texts(), Pooling::kLast);
  ASSERT_FALSE(vectors.ok());
  EXPECT_EQ(vectors.error().code(), Code::kFailedPrecondition);
  EXPECT_NE(vectors.error().message().find("speaks protocol 5, and embeddings need 6"),
            std::string::npos)
      << vectors.error().message();
  engine::Sequence sequence = conductor->NewSequence();
  sequence.SetHistory(Texts()[1]);
  engine::Request request;
  request.max_tokens = 3;
  EXPECT_EQ(Answer(*conductor, sequence, request).size(), 3u);
}

}  // namespace
}  // namespace aster::conduct
