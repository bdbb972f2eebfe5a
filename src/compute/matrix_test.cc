// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "compute/cpu/backend.h"
#include "compute/cpu/memory.h"
#include "kernels/isa_choice.h"
#include "kernels/packed.h"

namespace aster::compute {
namespace {

using gguf::TensorType;

// Bytes in which no two blocks are equal.
std::vector<uint8_t> SomeBytes(size_t size) {
  std::vector<uint8_t> bytes(size);
  uint32_t state = 1;
  for (uint8_t& byte : bytes)
    byte = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

// The types have packed matrices that are whole cache lines, one that is not, and one that is
// packed as another type.
TEST(Matrix, ThoseOfATensorAreWhatEachWouldBeAlone) {
  ThreadPool pool(2);
  Context context{pool, kernels::FastestIsa()};
  CpuBackend backend(context);
  for (const TensorType type :
       {TensorType::kF32, TensorType::kQ8_0, TensorType::kIQ2_XXS, TensorType::kQ5_0}) {
    constexpr uint64_t kColumns = 256;
    constexpr uint64_t kRows = 17;
    constexpr uint64_t kMatrices = 3;
    const std::vector<uint8_t> bytes =
        SomeBytes(gguf::RowBytes(type, kColumns).value() * kRows * kMatrices);
    const gguf::Tensor tensor{.name = "experts",
                              .type = type,
                              .dim_count = 3,
                              .dims = {kColumns, kRows, kMatrices, 1},
                              .element_count = kColumns * kRows * kMatrices,
                              .size_known = true,
                              .data = bytes};
    SCOPED_TRACE(gguf::TensorTypeName(type));

    // The common memory stays as long as one of the matrices does.
    std::optional<Matrix> last;
    {
      std::vector<Matrix> all = Matrix::PackAll(tensor, backend).value();
      ASSERT_EQ(all.size(), kMatrices);
      last = all.back();
      for (size_t i = 0; i + 1 < kMatrices; ++i) {
        const Matrix alone = Matrix::Pack(tensor, i, backend).value();
        EXPECT_EQ(all[i].rows(), kRows);
        EXPECT_EQ(all[i].columns(), kColumns);
        ASSERT_EQ(all[i].bytes(), alone.bytes());
        EXPECT_EQ(reinterpret_cast<uintptr_t>(PackedData(all[i])) % kernels::kPackedAlignment, 0U);
        EXPECT_TRUE(
            std::equal(PackedData(alone), PackedData(alone) + alone.bytes(), PackedData(all[i])));
      }
    }
    const Matrix alone = Matrix::Pack(tensor, kMatrices - 1, backend).value();
    ASSERT_EQ(last->bytes(), alone.bytes());
    EXPECT_TRUE(
        std::equal(PackedData(alone), PackedData(alone) + alone.bytes(), PackedData(*last)));
  }
}

}  // namespace
}  // namespace aster::compute
