// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The AMX kernels on emulated tiles, against the reference. With real tiles, matmul_test.cc tests
// them like every instruction set.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/isa_choice.h"
#include "kernels/matmul_test_support.h"
#include "kernels/x86/amx_check.h"
#include "kernels/x86/matmul_amx_for_test.h"

namespace aster::kernels {
namespace {

bool HasAvx512() {
  const auto isas = AvailableIsas();
  return std::find(isas.begin(), isas.end(), Isa::kAvx512) != isas.end();
}

void Multiply(TensorType type, const MatmulJob& job, size_t begin, size_t end) {
  const ComputeFloatMode mode;
  kMatmulEmulatedAmx.products[static_cast<size_t>(*WeightTypeOf(type))](job, begin, end);
}

struct Case {
  size_t rows = 33;
  size_t columns = 0;
  size_t batch = 0;
  TestValues weights = TestValues::kPlain;
  TestValues activations = TestValues::kPlain;
  uint64_t seed = 1;
};

class EmulatedAmxTest : public testing::TestWithParam<TensorType> {
 protected:
  void SetUp() override {
    if (!HasAvx512()) GTEST_SKIP() << "these kernels use AVX-512 too, which this machine lacks";
  }

  static size_t Columns(size_t blocks) { return blocks * std::max<size_t>(Multiple(), 32); }
  static size_t Multiple() { return ColumnMultiple(GetParam()); }

  static void ExpectSameAsReference(const Case& c) {
    const FileMatrix matrix(GetParam(), c.rows, c.columns, c.weights, c.seed);
    const AlignedBytes packed = matrix.Packed();
    const PreparedRows prepared(Isa::kRef, ActivationFormatFor(GetParam()),
                                TestRows(c.batch, c.columns, c.activations, c.seed + 1), c.columns);
    std::vector<float> out(c.batch * c.rows, -77.0f);
    Multiply(GetParam(), JobOf(matrix, packed, prepared, out.data()), 0, PanelCount(c.rows));
    ASSERT_EQ(ComparableBits(out), ComparableBits(Product(Isa::kRef, matrix, packed, prepared)))
        << c.rows << " x " << c.columns << ", batch " << c.batch << ", seed " << c.seed;
  }
};

TEST_P(EmulatedAmxTest, EveryBatchSize) {
  for (const size_t batch : NumbersUpTo(52)) {
    ExpectSameAsReference({.columns = Columns(3), .batch = batch, .seed = batch});
  }
}

// The batches have whole and partial groups, and several sets of rows.
TEST_P(EmulatedAmxTest, ManyRows) {
  for (const size_t batch : {513, 511, 512, 1041}) {
    if (kSanitized && batch != 513) break;
    ExpectSameAsReference({.rows = 5, .columns = Columns(1), .batch = batch, .seed = batch});
  }
}

TEST_P(EmulatedAmxTest, EveryNumberOfRowsOfTheMatrix) {
  for (const size_t rows : NumbersUpTo(34)) {
    ExpectSameAsReference({.rows = rows, .columns = Columns(1), .batch = 33, .seed = rows});
  }
  // More panels than a set has.
  ExpectSameAsReference({.rows = 17 * kPanelRows - 3, .columns = Columns(2), .batch = 20});
}

TEST_P(EmulatedAmxTest, EveryNumberOfColumns) {
  const size_t most = Multiple() == 256 ? 9 : 70;
  for (const size_t blocks : NumbersUpTo(most)) {
    ExpectSameAsReference({.rows = 17, .columns = Columns(blocks), .batch = 17, .seed = blocks});
  }
  if (Multiple() > 1) return;
  for (const size_t columns : NumbersUpTo(69)) {
    ExpectSameAsReference({.rows = 17, .columns = columns, .batch = 17, .seed = columns});
  }
}

TEST_P(EmulatedAmxTest, ExtremeValues) {
  constexpr TestValues kAny = TestValues::kAny, kPlain = TestValues::kPlain;
  for (uint64_t seed = 0; seed < (kSanitized ? 8 : 40); ++seed) {
    const size_t batch = 16 + seed % 20;
    for (const auto& [weights, activations] :
         {std::pair(kAny, kPlain), std::pair(kPlain, kAny), std::pair(kAny, kAny)}) {
      ExpectSameAsReference({.columns = Columns(2),
                             .batch = batch,
                             .weights = weights,
                             .activations = activations,
                             .seed = seed});
    }
  }
}

// Weights times their scales are largest if all bits of a block are equal.
TEST_P(EmulatedAmxTest, NoIntegerOverflows) {
  if (Multiple() == 1) GTEST_SKIP() << "no integers in this type";
  const size_t columns = Columns(2);
  FileMatrix matrix(GetParam(), 32, columns, TestValues::kPlain, 1);
  for (const uint8_t fill : {0x00, 0x80, 0x7f, 0xff, 0x0f, 0xf0, 0x3f, 0x77, 0x88}) {
    for (const float value : {1.0f, -1.0f}) {
      matrix.FillWith(fill);
      const AlignedBytes packed = matrix.Packed();
      const PreparedRows prepared(Isa::kRef, ActivationFormatFor(GetParam()),
                                  std::vector<float>(18 * columns, value), columns);
      std::vector<float> out(18 * matrix.rows);
      Multiply(GetParam(), JobOf(matrix, packed, prepared, out.data()), 0, 2);
      EXPECT_EQ(ComparableBits(out), ComparableBits(Product(Isa::kRef, matrix, packed, prepared)))
          << "bytes " << int{fill} << ", activations " << value;
    }
  }
}

TEST_P(EmulatedAmxTest, AnyDivisionOfTheWorkAndPlacesByIndex) {
  constexpr size_t kBatch = 90;
  constexpr size_t kStride = 80;
  const size_t columns = Columns(3);
  const FileMatrix matrix(GetParam(), 75, columns, TestValues::kPlain, 7);
  const AlignedBytes packed = matrix.Packed();
  const PreparedRows prepared(Isa::kRef, ActivationFormatFor(GetParam()),
                              TestRows(kBatch, columns, TestValues::kPlain, 8), columns);
  const std::vector<float> plain = Product(Isa::kRef, matrix, packed, prepared);
  std::vector<uint32_t> to(kBatch);
  std::vector<float> expected(kBatch * kStride, -77.0f);
  for (size_t i = 0; i < kBatch; ++i) {
    to[i] = static_cast<uint32_t>(i * 7 % kBatch);
    std::copy_n(&plain[i * matrix.rows], matrix.rows, &expected[to[i] * kStride]);
  }
  TestNumbers numbers(9);
  for (int round = 0; round < 10; ++round) {
    std::vector<float> out(expected.size(), -77.0f);
    for (size_t panel = 0; panel < PanelCount(matrix.rows);) {
      const size_t next = std::min(PanelCount(matrix.rows), panel + 1 + numbers.Below(5));
      for (size_t begin = 0; begin < kBatch;) {
        MatmulJob job = JobOf(matrix, packed, prepared, out.data());
        job.out_stride = kStride;
        job.to_rows = to.data() + begin;
        job.first_row = begin;
        job.batch = std::min(kBatch - begin, 1 + numbers.Below(50));
        Multiply(GetParam(), job, panel, next);
        begin += job.batch;
      }
      panel = next;
    }
    ASSERT_EQ(ComparableBits(out), ComparableBits(expected));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, EmulatedAmxTest, testing::ValuesIn(kTypeOfEachKernel),
                         [](const auto& param) { return TypeName(param.param); });

// --- The check of a machine.

TEST(AmxCheck, FindsWhatIsWrong) {
  if (!HasAvx512()) GTEST_SKIP() << "the check is compiled for AVX-512, which this machine lacks";
  const ComputeFloatMode mode;
  EXPECT_TRUE(TestTilesComputeAsDescribed(TestTiles::kRight));
  for (const TestTiles wrong : {TestTiles::kSaturatingBytes, TestTiles::kSignedBytes,
                                TestTiles::kOneChain, TestTiles::kDenormals}) {
    EXPECT_FALSE(TestTilesComputeAsDescribed(wrong)) << static_cast<int>(wrong);
  }
}

TEST(AmxCheck, ThisMachinesTilesAreRight) {
  const auto isas = AvailableIsas();
  if (std::find(isas.begin(), isas.end(), Isa::kAmx) == isas.end()) {
    GTEST_SKIP() << "no tile registers here";
  }
  const ComputeFloatMode mode;
  EXPECT_TRUE(AmxComputesAsDescribed());
}

}  // namespace
}  // namespace aster::kernels
