// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/delta_net.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/ops_test_support.h"

namespace aster::kernels {
namespace {

// Numbers of one head for some tokens.
struct Head {
  Head(size_t tokens, size_t key_dim, size_t value_dim)
      : queries(NormalValues(tokens * key_dim, 1)),
        keys(NormalValues(tokens * key_dim, 2, 1.0f / std::sqrt(static_cast<float>(key_dim)))),
        values(NormalValues(tokens * value_dim, 3)),
        state(NormalValues(key_dim * value_dim, 4)),
        out(tokens * value_dim) {
    for (size_t i = 0; i < tokens; ++i) {
      const auto t = static_cast<float>(i);
      decays.push_back(1.0f - 0.9f * t / static_cast<float>(tokens));
      betas.push_back(1.0f / (1.0f + t));
    }
    run = {.queries = queries.data(),
           .keys = keys.data(),
           .key_stride = key_dim,
           .values = values.data(),
           .value_stride = value_dim,
           .decays = decays.data(),
           .betas = betas.data(),
           .number_stride = 1,
           .tokens = tokens,
           .key_dim = key_dim,
           .value_dim = value_dim,
           .state = state.data(),
           .out = out.data(),
           .out_stride = value_dim};
  }
  Head(const Head&) = delete;
  Head& operator=(const Head&) = delete;

  std::vector<float> queries, keys, values, decays, betas, state, out;
  DeltaRun run;
};

// The definition: the state decays, and then the difference to the new value is added.
TEST(Delta, TheReferenceFollowsTheDefinition) {
  constexpr size_t kTokens = 20, kKeys = 24, kValues = 32;
  Head head(kTokens, kKeys, kValues);
  std::vector<double> state(head.state.begin(), head.state.end());
  kDeltaRef.run(head.run);
  for (size_t t = 0; t < kTokens; ++t) {
    for (double& s : state) s *= double{head.decays[t]};
    for (size_t v = 0; v < kValues; ++v) {
      double seen = 0, out = 0;
      for (size_t k = 0; k < kKeys; ++k)
        seen += double{head.keys[t * kKeys + k]} * state[k * kValues + v];
      const double delta = (double{head.values[t * kValues + v]} - seen) * double{head.betas[t]};
      for (size_t k = 0; k < kKeys; ++k) {
        state[k * kValues + v] += double{head.keys[t * kKeys + k]} * delta;
        out += double{head.queries[t * kKeys + k]} * state[k * kValues + v];
      }
      EXPECT_NEAR(head.out[t * kValues + v], out, 1e-4) << t << " " << v;
    }
  }
  for (size_t i = 0; i < state.size(); ++i) EXPECT_NEAR(head.state[i], state[i], 1e-5);
}

class DeltaIsa : public IsaTest {
 protected:
  const DeltaTable& table_ = Delta(GetParam());
};

TEST_P(DeltaIsa, RunsAreTheReferences) {
  for (const size_t value_dim : {16, 32, 48, 112, 128, 144, 256}) {
    Head expected(9, 40, value_dim), actual(9, 40, value_dim);
    kDeltaRef.run(expected.run);
    table_.run(actual.run);
    EXPECT_TRUE(SameBits(expected.out, actual.out)) << value_dim;
    EXPECT_TRUE(SameBits(expected.state, actual.state)) << value_dim;
  }
}

// The tokens are cut at every place, with and without outputs.
TEST_P(DeltaIsa, CutsChangeNothing) {
  Head whole(9, 32, 64), cut(9, 32, 64);
  table_.run(whole.run);
  DeltaRun first = cut.run;
  first.tokens = 4;
  first.out = nullptr;
  table_.run(first);
  DeltaRun second = cut.run;
  second.tokens = 5;
  second.queries += 4 * 32;
  second.keys += 4 * 32;
  second.values += 4 * 64;
  second.decays += 4;
  second.betas += 4;
  second.out += 4 * 64;
  table_.run(second);
  EXPECT_TRUE(SameBits(whole.state, cut.state));
  EXPECT_TRUE(SameBits(std::span(whole.out).subspan(4 * 64), std::span(cut.out).subspan(4 * 64)));
}

TEST_P(DeltaIsa, ConvolutionsAreTheReferences) {
  const auto x = NormalValues(30 * 80, 1, 3.0f), weights = NormalValues(8 * 96, 2);
  for (const size_t taps : {1, 2, 4, 8}) {
    for (const size_t count : {16, 64, 80}) {
      std::vector<float> expected(20 * 80, 7.0f), actual(20 * 80, 7.0f);
      DeltaConvolution convolution{.x = x.data(),
                                   .x_stride = 80,
                                   .weights = weights.data(),
                                   .weights_stride = 96,
                                   .taps = taps,
                                   .rows = 20,
                                   .count = count,
                                   .y = expected.data(),
                                   .y_stride = 80};
      kDeltaRef.convolve(convolution);
      convolution.y = actual.data();
      table_.convolve(convolution);
      EXPECT_TRUE(SameBits(expected, actual)) << taps << " of " << count;
    }
  }
}

INSTANTIATE_FOR_EVERY_ISA(DeltaIsa);

}  // namespace
}  // namespace aster::kernels
