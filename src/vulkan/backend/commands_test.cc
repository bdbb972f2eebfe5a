// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/commands.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gguf/types.h"
#include "vulkan/backend/backend_test_support.h"

namespace aster::vulkan {
namespace {

using compute::Heads;
using compute::Tensor;

class CommandsTest : public BackendTest {};
INSTANTIATE_TEST_SUITE_P(Tables, CommandsTest, testing::Bool(), NameOfTables);

constexpr size_t kRowCounts[] = {1, 3, 33};
constexpr float kNoLimit = std::numeric_limits<float>::infinity();

TEST_P(CommandsTest, NormsAndSumsOfRows) {
  for (const size_t rows : kRowCounts) {
    for (const size_t columns : {size_t{64}, size_t{100}}) {
      ExpectEqual(fmt::format("{} rows of {}", rows, columns), [&](compute::Backend& backend) {
        Bench bench(backend);
        const Tensor residual = bench.Rows(rows, columns, 1);
        const Tensor more = bench.Rows(rows, columns, 2);
        const Tensor weight = bench.Rows(1, columns, 3);
        const Tensor normed = bench.Room(rows, columns);
        return bench.Run(
            [&](compute::Commands& commands) -> Status {
              TRY(commands.Normalise({residual, weight, 1e-5f, normed}));
              TRY(commands.Add(residual, normed, 1));
              TRY(commands.Normalise({residual, {}, 1e-6f, residual}));
              TRY(commands.Add(residual, more, 1));
              return commands.Gate(residual, more, compute::GateKind::kSwiglu, 0.75f);
            },
            residual);
      });
    }
  }
}

TEST_P(CommandsTest, ARowIsAddedToSeveral) {
  ExpectEqual("repeated rows", [&](compute::Backend& backend) {
    Bench bench(backend);
    const Tensor rows = bench.Rows(12, 40, 1);
    const Tensor more = bench.Rows(3, 40, 2);
    return bench.Run([&](compute::Commands& commands) { return commands.Add(rows, more, 4); },
                     rows);
  });
}

TEST_P(CommandsTest, RowsComeInAndAreGathered) {
  ExpectEqual("gathered rows", [&](compute::Backend& backend) {
    Bench bench(backend);
    const std::vector<float> numbers = CheckFloats(7 * 24, CheckValues::kHostile, 5);
    const Tensor rows = bench.Room(9, 24);
    const Tensor gathered = bench.Room(4, 24);
    const compute::RowRange ranges[] = {{1, 2}, {6, 0}, {7, 2}};
    return bench.Run(
        [&](compute::Commands& commands) -> Status {
          TRY(commands.Upload(std::span(numbers).first(2 * 24), rows.Rows(0, 2)));
          TRY(commands.Upload(numbers, rows.Rows(2, 7)));
          return commands.Gather(rows, ranges, gathered);
        },
        gathered);
  });
}

// A batch that is submitted in parts, with rows that come in and out in the middle of it.
TEST_P(CommandsTest, LongBatches) {
  ExpectEqual("200 steps", [&](compute::Backend& backend) {
    Bench bench(backend);
    const std::vector<float> numbers = CheckFloats(3 * 40, CheckValues::kOrdinary, 4);
    const Tensor rows = bench.Rows(3, 40, 1);
    const Tensor more = bench.Rows(3, 40, 2);
    const Tensor normed = bench.Room(3, 40);
    std::span<const float> middle;
    return bench.Run(
        [&](compute::Commands& commands) -> Status {
          for (size_t step = 0; step < 100; ++step) {
            TRY(commands.Add(rows, more, 1));
            TRY(commands.Normalise({rows, {}, 1e-6f, normed}));
            TRY(commands.Add(rows, normed, 1));
            if (step == 50) TRY(commands.Upload(numbers, more));
            if (step == 60) TRY(commands.Download(rows, &middle));
          }
          return Ok();
        },
        rows);
  });
}

// The second upload replaces the rows of the first, but only after these were read.
TEST_P(CommandsTest, OperationsTakeEffectInTheirOrder) {
  ExpectEqual("a tensor that is written twice", [&](compute::Backend& backend) {
    Bench bench(backend);
    const std::vector<float> first(64, 1.0f);
    const std::vector<float> second(64, 2.0f);
    const Tensor rows = bench.Room(2, 32);
    const Tensor sum = bench.Put(std::vector<float>(64, 0.5f), 32);
    return bench.Run(
        [&](compute::Commands& commands) -> Status {
          TRY(commands.Upload(first, rows));
          TRY(commands.Add(sum, rows, 1));
          TRY(commands.Upload(second, rows));
          TRY(commands.Add(rows, sum, 1));
          return commands.Add(sum, rows, 1);
        },
        sum);
  });
}

TEST_P(CommandsTest, EmbeddingsOfEveryType) {
  const std::vector<int32_t> tokens = {3, 0, 3, 6};
  for (const auto type : {gguf::TensorType::kF32, gguf::TensorType::kF16, gguf::TensorType::kQ8_0,
                          gguf::TensorType::kQ6_K}) {
    const TensorOfFile embedding(type, 256, 7, 1, 9);
    for (const size_t copies : {1, 3}) {
      ExpectEqual(gguf::TensorTypeName(type), [&](compute::Backend& backend) {
        Bench bench(backend);
        const Tensor rows = bench.Room(tokens.size(), copies * 256);
        return bench.Run(
            [&](compute::Commands& commands) {
              return commands.Embed(embedding.tensor(), tokens, copies, rows);
            },
            rows);
      });
    }
  }
}

// Matrices of every supported type in one batch, with operands that two of them share.
TEST_P(CommandsTest, ProductsOfEveryWeightType) {
  using enum gguf::TensorType;
  for (const size_t rows : kRowCounts) {
    for (const auto type :
         {kF32, kF16, kBF16, kQ8_0, kQ4_0, kMXFP4, kQ2_K, kQ3_K, kQ4_K, kQ5_K, kQ6_K, kIQ2_XXS}) {
      if (!quant::CanQuantize(type)) continue;
      const TensorOfFile first(type, 512, 77, 1, 1);
      const TensorOfFile second(type, 256, 48, 1, 2);
      ExpectEqual(
          fmt::format("{} {}", gguf::TensorTypeName(type), rows), [&](compute::Backend& backend) {
            const auto a = compute::Matrix::Pack(first.tensor(), 0, backend).value();
            const auto b = compute::Matrix::Pack(second.tensor(), 0, backend).value();
            Bench bench(backend);
            const Tensor in = bench.Rows(rows, 512, 3);
            const Tensor out = bench.Room(rows, 77 + 48);
            const auto wide = bench.commands().NewOperand();
            const auto narrow = bench.commands().NewOperand();
            return bench.Run(
                [&](compute::Commands& commands) -> Status {
                  wide->Set(in);
                  narrow->Set(in.Columns(256, 256));
                  const compute::Product products[] = {{&a, wide.get(), out.Columns(0, 77)},
                                                       {&b, narrow.get(), out.Columns(77, 48)}};
                  return commands.Multiply(products);
                },
                out);
          });
    }
  }
}

// Columns that do not fill a block of 64.
TEST_P(CommandsTest, ProductsOfOddSizes) {
  using enum gguf::TensorType;
  for (const auto& [type, columns] :
       {std::pair(kF32, 37), std::pair(kF16, 50), std::pair(kBF16, 33), std::pair(kQ8_0, 96),
        std::pair(kQ4_0, 32)}) {
    const auto width = static_cast<size_t>(columns);
    const TensorOfFile file(type, width, 5, 1, 1);
    for (const size_t rows : {1, 17}) {
      ExpectEqual(gguf::TensorTypeName(type), [&](compute::Backend& backend) {
        const auto matrix = compute::Matrix::Pack(file.tensor(), 0, backend).value();
        Bench bench(backend);
        const Tensor out = bench.Room(rows, 5);
        const auto operand = bench.commands().NewOperand();
        operand->Set(bench.Rows(rows, width, 4));
        const compute::Product product[] = {{&matrix, operand.get(), out}};
        return bench.Run([&](compute::Commands& commands) { return commands.Multiply(product); },
                         out);
      });
    }
  }
}

// Norms and gates are fused with preparing their rows, products with the sum that follows. All of
// their results are written in any case, with any operations between.
TEST_P(CommandsTest, OperationsThatAreComputedTogether) {
  enum class Between : uint8_t { kNothing, kWork, kInPlace };
  for (const auto type : {gguf::TensorType::kQ8_0, gguf::TensorType::kQ4_K}) {
    const TensorOfFile wide(type, 256, 512, 1, 1);
    const TensorOfFile narrow(type, 512, 256, 1, 2);
    for (const size_t rows : {1, 5, 16, 33}) {
      for (const Between between : {Between::kNothing, Between::kWork, Between::kInPlace}) {
        for (size_t shown = 0; shown < 4; ++shown) {
          ExpectEqual(
              fmt::format("{} rows, tensor {}", rows, shown), [&](compute::Backend& backend) {
                const auto up = compute::Matrix::Pack(wide.tensor(), 0, backend).value();
                const auto down = compute::Matrix::Pack(narrow.tensor(), 0, backend).value();
                Bench bench(backend);
                const Tensor residual = bench.Rows(rows, 256, 3);
                const Tensor weight = bench.Rows(1, 256, 4);
                const Tensor normed =
                    between == Between::kInPlace ? residual : bench.Room(rows, 256);
                const Tensor gate = bench.Room(rows, 512);
                const Tensor ups = bench.Room(rows, 512);
                const Tensor more = bench.Room(rows, 256);
                const Tensor other = bench.Rows(rows, 256, 5);
                const auto first = bench.commands().NewOperand();
                const auto second = bench.commands().NewOperand();
                const auto work = [&](compute::Commands& commands) {
                  return between == Between::kWork ? commands.Scale(other, 0.5f) : Ok();
                };
                const Tensor all[] = {residual, normed, gate, more};
                return bench.Run(
                    [&](compute::Commands& commands) -> Status {
                      TRY(commands.Normalise({residual, weight, 1e-5f, normed}));
                      TRY(work(commands));
                      first->Set(normed);
                      const compute::Product expand[] = {{&up, first.get(), gate},
                                                         {&up, first.get(), ups}};
                      TRY(commands.Multiply(expand));
                      TRY(work(commands));
                      TRY(commands.Gate(gate, ups, compute::GateKind::kSwiglu, kNoLimit));
                      second->Set(gate);
                      const compute::Product contract[] = {{&down, second.get(), more}};
                      TRY(commands.Multiply(contract));
                      TRY(work(commands));
                      return commands.Add(residual, more, 1);
                    },
                    all[shown]);
              });
        }
      }
    }
  }
}

// An operand that is set again within a batch, as in every layer, and grows.
TEST_P(CommandsTest, AnOperandStandsForOneTensorAfterAnother) {
  const TensorOfFile file(gguf::TensorType::kQ4_K, 256, 256, 1, 1);
  ExpectEqual("three products in a row", [&](compute::Backend& backend) {
    const auto matrix = compute::Matrix::Pack(file.tensor(), 0, backend).value();
    Bench bench(backend);
    const Tensor few = bench.Rows(2, 256, 4);
    const Tensor many = bench.Rows(19, 256, 5);
    const Tensor out = bench.Room(21, 256);
    const auto operand = bench.commands().NewOperand();
    return bench.Run(
        [&](compute::Commands& commands) -> Status {
          operand->Set(few);
          const compute::Product first[] = {{&matrix, operand.get(), out.Rows(0, 2)}};
          TRY(commands.Multiply(first));
          operand->Set(many);
          const compute::Product second[] = {{&matrix, operand.get(), out.Rows(2, 19)}};
          TRY(commands.Multiply(second));
          operand->Set(out.Rows(1, 2));
          const compute::Product third[] = {{&matrix, operand.get(), out.Rows(0, 2)}};
          return commands.Multiply(third);
        },
        out);
  });
}

TEST_P(CommandsTest, HeadsAreFinished) {
  constexpr size_t kHeads = 3;
  constexpr size_t kDim = 40;
  constexpr size_t kPairs = 16;
  std::vector<double> frequencies;
  for (size_t i = 0; i < kPairs; ++i)
    frequencies.push_back(std::pow(10000.0, -static_cast<double>(i) / kPairs));
  for (const size_t rows : kRowCounts) {
    std::vector<int64_t> positions;
    for (size_t i = 0; i < rows; ++i) positions.push_back(static_cast<int64_t>(1000 * i + 7));
    for (const auto layout : {kernels::RopeLayout::kAdjacent, kernels::RopeLayout::kHalves}) {
      for (const bool inverse : {false, true}) {
        ExpectEqual(fmt::format("{} rows", rows), [&](compute::Backend& backend) {
          Bench bench(backend);
          const Tensor out = bench.Room(3 * rows, kHeads * kDim);
          const Tensor first = bench.Rows(rows, kHeads * kDim, 1);
          const Tensor second = bench.Rows(rows, kHeads * kDim, 2);
          const Tensor third = bench.Rows(rows, kHeads * kDim, 3);
          const compute::Angles angles = {bench.Room(rows, kPairs), bench.Room(rows, kPairs)};
          const Heads all[] = {
              {.rows = first,
               .count = kHeads,
               .bias = bench.Rows(1, kHeads * kDim, 4),
               .norm = compute::HeadNorm::kWeighted,
               .norm_weight = bench.Rows(1, kDim, 5),
               .epsilon = 1e-5f,
               .angles = angles,
               .layout = layout,
               .inverse = inverse},
              {.rows = second,
               .count = kHeads,
               .norm = compute::HeadNorm::kPlain,
               .epsilon = 1e-6f,
               .angles = angles,
               .unrotated = kDim - 2 * kPairs,
               .layout = layout,
               .inverse = inverse},
              {.rows = third, .count = kHeads, .bias = bench.Rows(1, kHeads * kDim, 6)}};
          const compute::RowRange whole[] = {{0, rows}};
          return bench.Run(
              [&](compute::Commands& commands) -> Status {
                TRY(commands.MakeAngles({frequencies, 1.25, positions}, angles));
                TRY(commands.FinishHeads(all));
                for (size_t i = 0; i < 3; ++i)
                  TRY(commands.Gather(all[i].rows, whole, out.Rows(i * rows, rows)));
                return Ok();
              },
              out);
        });
      }
    }
  }
}

// Batch after batch through the same memory, larger and smaller; two of them at the same time.
TEST_P(CommandsTest, MemoryIsReusedByTheBatchesThatFollow) {
  const TensorOfFile file(gguf::TensorType::kQ8_0, 128, 128, 1, 1);
  const auto matrix = compute::Matrix::Pack(file.tensor(), 0, gpu()).value();
  const auto on_host = compute::Matrix::Pack(file.tensor(), 0, cpu()).value();
  const auto run = [](Bench& bench, const compute::Matrix& weights, compute::Operand& operand,
                      size_t rows, uint64_t seed, std::span<const float>* result) -> Status {
    const std::vector<float> numbers = CheckFloats(rows * 128, CheckValues::kOrdinary, seed);
    const Tensor in = bench.Room(rows, 128);
    const Tensor out = bench.Room(rows, 128);
    TRY(bench.commands().Begin());
    TRY(bench.commands().Upload(numbers, in));
    operand.Set(in);
    const compute::Product product[] = {{&weights, &operand, out}};
    TRY(bench.commands().Multiply(product));
    TRY(bench.commands().Add(out, in, 1));
    TRY(bench.commands().Download(out, result));
    return bench.commands().Submit();
  };
  Bench host(cpu());
  Bench benches[] = {Bench(gpu()), Bench(gpu())};
  const auto host_operand = host.commands().NewOperand();
  const auto first = benches[0].commands().NewOperand();
  const auto second = benches[1].commands().NewOperand();
  for (const size_t rows : {3, 40, 1, 65}) {
    std::span<const float> wanted, got[2];
    ASSERT_OK(run(benches[0], matrix, *first, rows, rows, &got[0]));
    ASSERT_OK(run(benches[1], matrix, *second, rows + 2, rows + 1, &got[1]));
    while (!benches[0].commands().Poll().value()) ASSERT_OK(benches[0].commands().Wait());
    ASSERT_OK(benches[1].commands().Wait());
    EXPECT_TRUE(benches[1].commands().Poll().value());
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_OK(run(host, on_host, *host_operand, rows + 2 * i, rows + i, &wanted));
      EXPECT_OK(CompareFloats(fmt::format("batch {} of {}", i, rows), wanted, got[i]));
    }
  }
}

// A batch that was never submitted leaves nothing behind.
TEST_P(CommandsTest, ABatchMayBeGivenUp) {
  Bench bench(gpu());
  const Tensor rows = bench.Put(std::vector<float>(64, 1.0f), 64);
  ASSERT_OK(bench.commands().Begin());
  ASSERT_OK(bench.commands().Add(rows, rows, 1));
  EXPECT_EQ(
      bench.Run([&](compute::Commands& commands) { return commands.Add(rows, rows, 1); }, rows),
      std::vector<float>(64, 2.0f));
}

TEST_P(CommandsTest, SwigluWithoutALimit) {
  ExpectEqual("swiglu", [&](compute::Backend& backend) {
    Bench bench(backend);
    const Tensor gate = bench.Put(CheckFloats(99, CheckValues::kHostile, 1), 33);
    const Tensor up = bench.Put(CheckFloats(99, CheckValues::kHostile, 2), 33);
    return bench.Run(
        [&](compute::Commands& commands) {
          return commands.Gate(gate, up, compute::GateKind::kSwiglu, kNoLimit);
        },
        gate);
  });
}

TEST_P(CommandsTest, GegluScaledAndCapped) {
  for (const size_t rows : kRowCounts) {
    ExpectEqual(fmt::format("{} rows", rows), [&](compute::Backend& backend) {
      Bench bench(backend);
      const Tensor gate = bench.Rows(rows, 100, 1);
      const Tensor up = bench.Rows(rows, 100, 2);
      return bench.Run(
          [&](compute::Commands& commands) -> Status {
            TRY(commands.Scale(gate, 33.9f));
            TRY(commands.Gate(gate, up, compute::GateKind::kGeglu, kNoLimit));
            return commands.Softcap(gate, 3.0f);
          },
          gate);
    });
  }
}

}  // namespace
}  // namespace aster::vulkan
