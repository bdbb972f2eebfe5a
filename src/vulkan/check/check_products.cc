// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/check/check_products.h"

#include <fmt/format.h>

#include "kernels/activation_layout.h"
#include "kernels/activations.h"
#include "kernels/matmul_table.h"
#include "kernels/ops.h"
#include "kernels/pack.h"
#include "kernels/packed.h"
#include "quant/half.h"
#include "vulkan/kernels/experts.h"
#include "vulkan/kernels/products.h"

namespace aster::vulkan {
namespace {

using kernels::ActivationFormat;
using kernels::WeightType;

constexpr const char* kFormatNames[] = {"F32", "BF16", "int8 per 32", "int8 per 256"};

const char* NameOf(ActivationFormat format) { return kFormatNames[static_cast<size_t>(format)]; }

// Memory for words, at a multiple of 64.
class AlignedWords {
 public:
  explicit AlignedWords(size_t bytes) : storage_((bytes + 63) / 64 + 1), bytes_(bytes) {}
  uint8_t* data() { return storage_[0].bytes; }
  std::span<const uint8_t> span() const { return {storage_[0].bytes, bytes_}; }

 private:
  struct alignas(64) Line {
    uint8_t bytes[64];
  };
  std::vector<Line> storage_;
  size_t bytes_;
};

AlignedWords Prepared(ActivationFormat format, const std::vector<float>& values, uint32_t columns) {
  const size_t rows = values.size() / columns;
  AlignedWords prepared(kernels::ActivationBytes(format, rows, columns));
  kernels::PrepareActivations(kernels::Isa::kRef, format, {values.data(), columns, rows, columns},
                              0, rows, prepared.data());
  return prepared;
}

// A factor of moderate size as a half; sometimes a small one, or zero.
uint16_t ScaleHalf(Random& random, CheckValues values) {
  if (values == CheckValues::kVanishing)  // a little more than 2^-10
    return static_cast<uint16_t>(0x1400 + random.NextBelow(4));
  if (values == CheckValues::kHostile && random.NextBelow(16) == 0)
    return static_cast<uint16_t>(random.NextU32() & 0x83ff);
  return quant::FloatToHalf(0.01f * (0.5f + random.NextFloat()));
}

void SetScales(uint16_t (&scales)[kernels::kPanelRows], Random& random, CheckValues values) {
  for (uint16_t& scale : scales) scale = ScaleHalf(random, values);
}

void SetScales(kernels::PackedF32& block, Random& random, CheckValues values) {
  for (float& value : block.values) {
    value = random.NextNormal();
    if (values == CheckValues::kHostile && random.NextBelow(64) == 0) value *= 0x1p-130f;
  }
}
void SetScales(kernels::PackedF16& block, Random& random, CheckValues values) {
  for (auto& column : block.values) SetScales(column, random, values);
}
void SetScales(kernels::PackedBF16& block, Random& random, CheckValues) {
  for (auto& pair : block.pairs) {
    for (auto& row : pair) {
      for (uint16_t& value : row) value = quant::FloatToBfloat16(random.NextNormal());
    }
  }
}
void SetScales(kernels::PackedMXFP4& block, Random& random, CheckValues values) {
  for (auto& group : block.exponents) {
    for (uint8_t& exponent : group) {
      const bool odd = values == CheckValues::kHostile && random.NextBelow(8) == 0;
      exponent = static_cast<uint8_t>(odd ? random.NextBelow(4) : 110 + random.NextBelow(20));
    }
  }
}
template <typename Block>
  requires requires(Block& block) { block.scales[0][0] = uint16_t{}; } &&
           (!requires(Block& block) { block.scale[0]; })
void SetScales(Block& block, Random& random, CheckValues values) {
  for (auto& scales : block.scales) SetScales(scales, random, values);
  if constexpr (requires { block.offsets; }) {
    for (auto& offsets : block.offsets) SetScales(offsets, random, values);
  }
}
// The super-blocks.
template <typename Block>
  requires requires(Block& block) { block.scale[0]; }
void SetScales(Block& block, Random& random, CheckValues values) {
  SetScales(block.scale, random, values);
  if constexpr (requires { block.min_scale[0]; }) SetScales(block.min_scale, random, values);
  if constexpr (requires { block.factor; }) block.factor = 0.125f;
  // Those beside minima of their own have six bits in files, as the minima.
  if constexpr (requires { block.mins[0]; }) {
    for (auto* pairs : {&block.scales, &block.mins}) {
      for (auto& pair : *pairs) {
        for (auto& row : pair) {
          for (uint8_t& byte : row) byte &= 63;
        }
      }
    }
  }
}

// Any bits, except for scales; the same bits for kVanishing, so that sums vanish.
template <typename Block>
void FillPacked(std::span<uint8_t> packed, Random& random, CheckValues values) {
  for (size_t at = 0; at + sizeof(Block) <= packed.size(); at += sizeof(Block)) {
    Block block;
    auto* bytes = reinterpret_cast<uint8_t*>(&block);
    for (size_t i = 0; i < sizeof(block); ++i) {
      const auto any = static_cast<uint8_t>(random.NextU32());
      bytes[i] = values == CheckValues::kVanishing ? 0x11 : any;
    }
    SetScales(block, random, values);
    std::memcpy(packed.data() + at, &block, sizeof(block));
  }
}

using FillFunction = void (*)(std::span<uint8_t>, Random&, CheckValues);
constexpr FillFunction kFills[kernels::kWeightTypeCount] = {
    FillPacked<kernels::PackedF32>,     FillPacked<kernels::PackedF16>,
    FillPacked<kernels::PackedBF16>,    FillPacked<kernels::PackedQ8_0>,
    FillPacked<kernels::PackedQ4_0>,    FillPacked<kernels::PackedMXFP4>,
    FillPacked<kernels::PackedQ2_K>,    FillPacked<kernels::PackedQ4_K>,
    FillPacked<kernels::PackedQ5_K>,    FillPacked<kernels::PackedQ6_K>,
    FillPacked<kernels::PackedIQ2_XXS>, FillPacked<kernels::PackedIQ4_NL>,
    FillPacked<kernels::PackedQ5_1>,    FillPacked<kernels::PackedLevels>,
};

AlignedWords Weights(WeightType type, const ProductSize& size, CheckValues values, uint64_t seed) {
  AlignedWords packed(kernels::PanelCount(size.outputs) * kernels::PanelBytes(type, size.columns));
  Random random(seed, 4);
  kFills[static_cast<size_t>(type)]({packed.data(), packed.span().size()}, random, values);
  return packed;
}

std::vector<uint32_t> ChosenExperts(uint32_t slots, uint32_t experts, uint64_t seed) {
  std::vector<uint32_t> ids = CheckWords(slots, seed);
  for (uint32_t& id : ids) id %= experts;
  return ids;
}

// The groups that the device must make; none if groups have one slot.
std::vector<uint32_t> Grouped(const std::vector<uint32_t>& ids, uint32_t experts,
                              uint32_t together) {
  const auto slots = static_cast<uint32_t>(ids.size());
  std::vector<uint32_t> grouped;
  for (uint32_t expert = 0; expert < experts; ++expert) {
    for (uint32_t slot = 0; slot < slots; ++slot) {
      if (ids[slot] == expert) grouped.push_back(slot);
    }
    while (grouped.size() % together != 0) grouped.push_back(kNoSlot);
  }
  grouped.resize(size_t{MostGroups(slots, experts, together)} * together, kNoSlot);
  return grouped;
}

}  // namespace

Status CheckPrepare(Workbench& bench, ActivationFormat format, uint32_t rows, uint32_t columns,
                    CheckValues values, uint64_t seed) {
  const std::vector<float> floats = CheckFloats(size_t{rows} * columns, values, seed);
  const AlignedWords want = Prepared(format, floats, columns);
  const Buffer in = TRY(bench.Put(floats));
  const Buffer out = TRY(bench.Room(want.span().size()));
  TRY(bench.Run([&](Commands& commands) {
    return RecordPrepare(bench.kernels(), commands,
                         {.format = format,
                          .rows_in = in.address(),
                          .stride = columns,
                          .rows = rows,
                          .columns = columns,
                          .prepared = out.address()});
  }));
  return CompareBytes(fmt::format("activations as {}", NameOf(format)), want.span(), out);
}

// Checks both the normed rows and the activations that are prepared from them.
Status CheckPrepareNormed(Workbench& bench, ActivationFormat format, uint32_t rows,
                          uint32_t columns, bool weighted, CheckValues values, uint64_t seed) {
  constexpr float kEpsilon = 1e-6f;
  const uint32_t stride = columns + 3;
  const std::vector<float> x = CheckFloats(size_t{rows} * stride, values, seed);
  const std::vector<float> weight = CheckFloats(columns, CheckValues::kOrdinary, seed + 1);
  std::vector<float> normed(size_t{rows} * columns);
  kernels::kOpsRef.rms_norm(x.data(), stride, rows, columns, weighted ? weight.data() : nullptr,
                            kEpsilon, normed.data(), columns);
  const AlignedWords want = Prepared(format, normed, columns);
  const Buffer in = TRY(bench.Put(x));
  const Buffer weights = TRY(bench.Put(weight));
  const Buffer normed_out = TRY(bench.Room(normed.size() * sizeof(float)));
  const Buffer out = TRY(bench.Room(want.span().size()));
  TRY(bench.Run([&](Commands& commands) {
    return RecordPrepareNormed(bench.kernels(), commands, format,
                               {.x = in.address(),
                                .x_stride = stride,
                                .rows = rows,
                                .count = columns,
                                .weight = weighted ? weights.address() : 0,
                                .epsilon = kEpsilon,
                                .y = normed_out.address(),
                                .y_stride = columns},
                               out.address());
  }));
  TRY(CompareFloats("norm of rows that are prepared", normed,
                    ContentOf<float>(normed_out, normed.size())));
  return CompareBytes(fmt::format("normed activations as {}", NameOf(format)), want.span(), out);
}

Status CheckPrepareGated(Workbench& bench, ActivationFormat format, ElementOperation operation,
                         uint32_t rows, uint32_t columns, CheckValues values, uint64_t seed) {
  const size_t count = size_t{rows} * columns;
  const std::vector<float> gates = CheckFloats(count, values, seed);
  const std::vector<float> ups = CheckFloats(count, values, seed + 1);
  constexpr float kLimit = 3.3f;
  std::vector<float> gated(count);
  const auto& ops = kernels::kOpsRef;
  const auto gate = operation == ElementOperation::kSwiglu      ? ops.swiglu
                    : operation == ElementOperation::kSwigluOai ? ops.swiglu_oai
                                                                : ops.geglu;
  gate(gates.data(), ups.data(), count, kLimit, gated.data());
  const AlignedWords want = Prepared(format, gated, columns);
  const Buffer in_place = TRY(bench.Put(gates));
  const Buffer up = TRY(bench.Put(ups));
  const Buffer out = TRY(bench.Room(want.span().size()));
  TRY(bench.Run([&](Commands& commands) {
    return RecordPrepareGated(bench.kernels(), commands, format,
                              {.operation = operation,
                               .gates = in_place.address(),
                               .ups = up.address(),
                               .rows = rows,
                               .columns = columns,
                               .limit = kLimit},
                              out.address());
  }));
  TRY(CompareFloats("gate of rows that are prepared", gated, ContentOf<float>(in_place, count)));
  return CompareBytes(fmt::format("gated activations as {}", NameOf(format)), want.span(), out);
}

Status CheckGatherPrepared(Workbench& bench, ActivationFormat format, uint32_t rows,
                           uint32_t to_rows, uint32_t columns, uint64_t seed) {
  const AlignedWords from =
      Prepared(format, CheckFloats(size_t{rows} * columns, CheckValues::kOrdinary, seed), columns);
  std::vector<uint32_t> indices = CheckWords(to_rows, seed);
  for (uint32_t& index : indices) index %= rows;
  AlignedWords want(kernels::ActivationBytes(format, to_rows, columns));
  kernels::GatherActivations(format, {from.span().data(), rows, columns}, indices, want.data());
  const Buffer in = TRY(bench.Put(from.span()));
  const Buffer chosen = TRY(bench.Put(indices));
  const Buffer out = TRY(bench.Room(want.span().size()));
  TRY(bench.Run([&](Commands& commands) {
    return RecordGatherPrepared(bench.kernels(), commands,
                                {.format = format,
                                 .from = in.address(),
                                 .from_rows = rows,
                                 .columns = columns,
                                 .indices = chosen.address(),
                                 .to_rows = to_rows,
                                 .to = out.address()});
  }));
  return CompareBytes(fmt::format("gathered activations as {}", NameOf(format)), want.span(), out);
}

Status CheckProduct(Workbench& bench, WeightType type, const ProductSize& size, CheckValues values,
                    uint64_t seed) {
  const ActivationFormat format = kernels::ActivationFormatFor(type);
  const AlignedWords weights = Weights(type, size, values, seed);
  const AlignedWords rows = Prepared(
      format, CheckFloats(size_t{size.activation_rows} * size.columns, values, seed), size.columns);
  std::vector<float> want(size_t{size.rows} * size.outputs);
  const kernels::MatmulJob job{.weights = weights.span().data(),
                               .rows = size.outputs,
                               .columns = size.columns,
                               .activations = rows.span().data(),
                               .activation_rows = size.activation_rows,
                               .first_row = size.first_row,
                               .batch = size.rows,
                               .out = want.data(),
                               .out_stride = size.outputs,
                               .to_rows = nullptr};
  kernels::kMatmulRef.products[static_cast<size_t>(type)](job, 0,
                                                          kernels::PanelCount(size.outputs));
  const Buffer weight_buffer = TRY(bench.Put(weights.span()));
  const Buffer row_buffer = TRY(bench.Put(rows.span()));
  const Buffer out = TRY(bench.Room(want.size() * sizeof(float)));
  // If the shader can, it also adds the product to other rows.
  const bool adds = CanAddProduct(type, size.rows);
  const std::vector<float> rows_before = CheckFloats(want.size(), values, seed + 1);
  const Buffer sum = TRY(bench.Put(rows_before));
  TRY(bench.Run([&](Commands& commands) {
    return RecordProduct(bench.kernels(), commands,
                         {.type = type,
                          .weights = weight_buffer.address(),
                          .outputs = size.outputs,
                          .columns = size.columns,
                          .activations = row_buffer.address(),
                          .activation_rows = size.activation_rows,
                          .first_row = size.first_row,
                          .rows = size.rows,
                          .result = out.address(),
                          .out_stride = size.outputs,
                          .sum = adds ? sum.address() : 0,
                          .sum_stride = size.outputs});
  }));
  if (adds) {
    std::vector<float> sums(want.size());
    kernels::kOpsRef.add(rows_before.data(), want.data(), want.size(), sums.data());
    TRY(CompareFloats(fmt::format("sum of a product with {}", kernels::WeightTypeName(type)), sums,
                      ContentOf<float>(sum, sums.size())));
  }
  return CompareFloats(fmt::format("product with {}, {} {}", kernels::WeightTypeName(type),
                                   size.rows, size.rows == 1 ? "row" : "rows"),
                       want, ContentOf<float>(out, want.size()));
}

Status CheckGroupExperts(Workbench& bench, uint32_t slots, uint32_t experts, uint32_t together,
                         uint64_t seed) {
  const std::vector<uint32_t> ids = ChosenExperts(slots, experts, seed);
  const std::vector<uint32_t> want = Grouped(ids, experts, together);
  const Buffer in = TRY(bench.Put(ids));
  const Buffer out = TRY(bench.Room(want.size() * sizeof(uint32_t)));
  TRY(bench.Run([&](Commands& commands) {
    return RecordGroupExperts(bench.kernels(), commands,
                              {.ids = in.address(),
                               .slots = slots,
                               .experts = experts,
                               .groups = {.slots = out.address(),
                                          .together = together,
                                          .count = static_cast<uint32_t>(want.size()) / together}});
  }));
  return CompareBytes("experts in groups", std::span<const uint32_t>(want), out);
}

Status CheckExpertProduct(Workbench& bench, WeightType type, const ProductSize& size,
                          uint32_t together, uint64_t seed, CheckValues values) {
  constexpr uint32_t kExperts = 3;
  constexpr uint32_t kUsed = 2;
  const ActivationFormat format = kernels::ActivationFormatFor(type);
  const AlignedWords rows = Prepared(
      format, CheckFloats(size_t{size.activation_rows} * size.columns, values, seed), size.columns);
  std::vector<AlignedWords> weights;
  std::vector<Buffer> buffers;
  std::vector<uint64_t> matrices;
  for (uint32_t expert = 0; expert < kExperts; ++expert) {
    weights.push_back(Weights(type, size, values, seed + expert));
    buffers.push_back(TRY(bench.Put(weights.back().span())));
    matrices.push_back(buffers.back().address());
  }
  const std::vector<uint32_t> ids = ChosenExperts(size.rows * kUsed, kExperts, seed);
  std::vector<float> want(ids.size() * size.outputs);
  for (size_t i = 0; i < ids.size(); ++i) {
    const kernels::MatmulJob job{.weights = weights[ids[i]].span().data(),
                                 .rows = size.outputs,
                                 .columns = size.columns,
                                 .activations = rows.span().data(),
                                 .activation_rows = size.activation_rows,
                                 .first_row = size.first_row + i / kUsed,
                                 .batch = 1,
                                 .out = want.data() + i * size.outputs,
                                 .out_stride = size.outputs,
                                 .to_rows = nullptr};
    kernels::kMatmulRef.products[static_cast<size_t>(type)](job, 0,
                                                            kernels::PanelCount(size.outputs));
  }
  const Buffer table = TRY(bench.Put(matrices));
  const Buffer id_buffer = TRY(bench.Put(ids));
  const std::vector<uint32_t> slots = Grouped(ids, kExperts, together);
  const Buffer slot_buffer = TRY(bench.Put(slots));
  const Buffer row_buffer = TRY(bench.Put(rows.span()));
  const Buffer out = TRY(bench.Room(want.size() * sizeof(float)));
  TRY(bench.Run([&](Commands& commands) {
    return RecordExpertProduct(bench.kernels(), commands,
                               {.type = type,
                                .matrices = table.address(),
                                .ids = id_buffer.address(),
                                .groups = {.slots = together > 1 ? slot_buffer.address() : 0,
                                           .together = together,
                                           .count = static_cast<uint32_t>(slots.size()) / together},
                                .sharing = kUsed,
                                .outputs = size.outputs,
                                .columns = size.columns,
                                .activations = row_buffer.address(),
                                .activation_rows = size.activation_rows,
                                .first_row = size.first_row,
                                .result = out.address()});
  }));
  return CompareFloats(fmt::format("product of experts with {}", kernels::WeightTypeName(type)),
                       want, ContentOf<float>(out, want.size()));
}

}  // namespace aster::vulkan
