// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/experts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "gguf/types.h"
#include "vulkan/backend/backend_test_support.h"

namespace aster::vulkan {
namespace {

using compute::Tensor;
using kernels::RouterScore;

class DeviceExpertsTest : public BackendTest {};
INSTANTIATE_TEST_SUITE_P(Tables, DeviceExpertsTest, testing::Bool(), NameOfTables);

constexpr float kUnlimited = std::numeric_limits<float>::infinity();

struct ExpertCase {
  size_t rows = 3;
  size_t experts = 9;
  size_t used = 4;
  size_t embedding = 256;
  size_t feed_forward = 512;
  RouterScore score = RouterScore::kSoftmax;
  bool has_bias = false;
  bool has_table = false;
  bool has_shared = false;
  bool is_oai = false;  // gates and biases as gpt-oss has them
  gguf::TensorType type = gguf::TensorType::kQ8_0;
};

// Matrices of all experts of a file, then those of the shared one.
std::vector<compute::ExpertWeights> Pack(compute::Backend& backend, const ExpertCase& of) {
  const TensorOfFile gate(of.type, of.embedding, of.feed_forward, of.experts + 1, 11);
  const TensorOfFile up(of.type, of.embedding, of.feed_forward, of.experts + 1, 12);
  const TensorOfFile down(of.type, of.feed_forward, of.embedding, of.experts + 1, 13);
  auto gates = compute::Matrix::PackAll(gate.tensor(), backend).value();
  auto ups = compute::Matrix::PackAll(up.tensor(), backend).value();
  auto downs = compute::Matrix::PackAll(down.tensor(), backend).value();
  std::vector<compute::ExpertWeights> all;
  for (size_t i = 0; i <= of.experts; ++i) all.push_back({gates[i], ups[i], downs[i]});
  return all;
}

std::vector<float> RunExperts(compute::Backend& backend, const ExpertCase& of,
                              std::vector<float> logits) {
  const std::vector<compute::ExpertWeights> all = Pack(backend, of);
  Bench bench(backend);
  std::vector<int32_t> table;
  for (size_t i = 0; i < 20 * of.used; ++i)
    table.push_back(static_cast<int32_t>(i * 7 % of.experts));
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < of.rows; ++i) tokens.push_back(static_cast<int32_t>(i * 13 % 20));
  const Tensor rows = bench.Rows(of.rows, of.embedding, 1);
  const Tensor scores = bench.Put(logits, of.experts);
  const Tensor bias = of.has_bias ? bench.Rows(1, of.experts, 2) : Tensor();
  const Tensor ids = bench.Room(of.rows, of.used, compute::Element::kI32);
  const Tensor shares = bench.Room(of.rows, of.used);
  const Tensor out = bench.Room(of.rows, of.embedding);
  const compute::ExpertBiases biases =
      of.is_oai ? compute::ExpertBiases{.gate = bench.Rows(of.experts, of.feed_forward, 3),
                                        .up = bench.Rows(of.experts, of.feed_forward, 4),
                                        .down = bench.Rows(of.experts, of.embedding, 5)}
                : compute::ExpertBiases();
  const auto operand = bench.commands().NewOperand();
  std::span<const float> chosen_shares;
  std::vector<float> result = bench.Run(
      [&](compute::Commands& commands) -> Status {
        TRY(commands.Choose(
            {.logits = scores,
             .spec = {.score = of.score, .normalized = !of.has_bias, .scale = 1.5f},
             .bias = bias,
             .table = of.has_table ? std::span<const int32_t>(table) : std::span<const int32_t>(),
             .tokens = tokens,
             .ids = ids,
             .shares = shares}));
        operand->Set(rows);
        TRY(commands.SumExperts(
            {.rows = operand.get(),
             .ids = ids,
             .shares = shares,
             .experts = std::span(all).first(of.experts),
             .shared = of.has_shared ? &all.back() : nullptr,
             .limit = of.is_oai ? 2.0f : kUnlimited,
             .gate = of.is_oai ? compute::GateKind::kSwigluOai : compute::GateKind::kSwiglu,
             .biases = biases,
             .out = out}));
        return commands.Download(shares, &chosen_shares);
      },
      out);
  result.insert(result.end(), chosen_shares.begin(), chosen_shares.end());
  return result;
}

TEST_P(DeviceExpertsTest, RoutersAndSharedExperts) {
  for (const ExpertCase& of :
       {ExpertCase{.rows = 1}, ExpertCase{.rows = 33, .has_shared = true},
        ExpertCase{.experts = 130, .used = 8}, ExpertCase{.experts = 4, .used = 4},
        ExpertCase{.score = RouterScore::kSigmoid, .has_bias = true},
        ExpertCase{.score = RouterScore::kSqrtSoftplus, .has_bias = true, .has_shared = true},
        ExpertCase{.score = RouterScore::kSqrtSoftplus, .has_table = true},
        ExpertCase{.rows = 1, .is_oai = true}, ExpertCase{.rows = 33, .is_oai = true}}) {
    ExpectEqual(fmt::format("{} of {} experts, {} rows", of.used, of.experts, of.rows),
                [&](compute::Backend& backend) {
                  return RunExperts(backend, of,
                                    CheckFloats(of.rows * of.experts, CheckValues::kOrdinary, 5));
                });
  }
}

TEST_P(DeviceExpertsTest, EveryWeightType) {
  using enum gguf::TensorType;
  for (const auto type :
       {kF32, kF16, kBF16, kQ8_0, kQ4_0, kMXFP4, kQ2_K, kQ4_K, kQ5_K, kQ6_K, kIQ2_XXS}) {
    if (!quant::CanQuantize(type)) continue;
    const ExpertCase of = {.experts = 3, .used = 2, .has_shared = true, .type = type};
    ExpectEqual(gguf::TensorTypeName(type), [&](compute::Backend& backend) {
      return RunExperts(backend, of, CheckFloats(of.rows * of.experts, CheckValues::kOrdinary, 5));
    });
  }
}

// Of equal scores the expert with the lowest number is chosen; NaN comes last.
TEST_P(DeviceExpertsTest, TiesAndNumbersThatAreNone) {
  const ExpertCase of = {.rows = 4, .experts = 6, .used = 5, .score = RouterScore::kSigmoid};
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> logits = {1, 1,    1, 1,          1, 1,           //
                                     0, -0.f, 2, 2,          0, -kInfinity,  //
                                     3, kNan, 3, -kInfinity, 1, kNan,        //
                                     5, 1,    5, -200,       4, -kInfinity};
  ExpectEqual("ties", [&](compute::Backend& backend) { return RunExperts(backend, of, logits); });
}

// More rows than are computed at a time.
TEST_P(DeviceExpertsTest, ManyRowsWithBiases) {
  const ExpertCase of = {
      .rows = 1100, .experts = 5, .used = 4, .embedding = 64, .feed_forward = 96, .is_oai = true};
  ExpectEqual("1100 rows", [&](compute::Backend& backend) {
    return RunExperts(backend, of, CheckFloats(of.rows * of.experts, CheckValues::kOrdinary, 5));
  });
}

TEST_P(DeviceExpertsTest, ManyRows) {
  const ExpertCase of = {.rows = 600,
                         .experts = 9,
                         .used = 8,
                         .embedding = 64,
                         .feed_forward = 96,
                         .has_shared = true};
  ExpectEqual("600 rows", [&](compute::Backend& backend) {
    return RunExperts(backend, of, CheckFloats(of.rows * of.experts, CheckValues::kOrdinary, 5));
  });
}

}  // namespace
}  // namespace aster::vulkan
