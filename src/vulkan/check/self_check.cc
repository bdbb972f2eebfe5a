// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/check/self_check.h"

#include <fmt/format.h>

#include <utility>

#include "gguf/types.h"
#include "kernels/pack.h"
#include "vulkan/check/check_arithmetic.h"
#include "vulkan/check/check_attention.h"
#include "vulkan/check/check_latent.h"
#include "vulkan/check/check_products.h"
#include "vulkan/check/check_rows.h"
#include "vulkan/check/check_shared.h"
#include "vulkan/check/check_states.h"
#include "vulkan/kernels/product_push.h"
#include "vulkan/kernels/products.h"
#include "vulkan/kernels/type_names.h"

namespace aster::vulkan {
namespace {

using kernels::ActivationFormat;
using kernels::KvType;
using kernels::WeightType;

constexpr uint64_t kSeed = 20260101;
constexpr uint32_t kInputsOfAKind = 2048;

// Formats whose rows, except the first, do not begin at a word.
constexpr kernels::LatentFormat kHalves = {kernels::LatentRows::kF16, 80, 64};
constexpr kernels::LatentFormat kEightBits = {kernels::LatentRows::kF8, 96, 80};
constexpr kernels::LatentFormat kFourBits = {kernels::LatentRows::kF4, 64, 0};
constexpr kernels::LatentFormat kFineBytes = {kernels::LatentRows::kF8Fine, 48, 0};
constexpr kernels::LatentFormat kScaledBits = {kernels::LatentRows::kF4Scaled, 32, 0};

// A wrong result becomes a reason not to use the device; any other error is returned unchanged.
Error WhyRefused(const Device& device, const Error& error) {
  if (error.code() != Code::kDataLoss) return error;
  return FailedPrecondition(
      fmt::format("{} computes other bits than the processor and is not used: {} (driver {}); "
                  "update the driver",
                  device.traits().name, error.message(), device.traits().driver));
}

// Preparing rows in one kernel with a norm or a gate.
Status CheckPreparedFrom(Workbench& bench, ActivationFormat format) {
  for (const CheckValues values : kBothValues) {
    TRY(CheckPrepareNormed(bench, format, 3, 768, values == CheckValues::kOrdinary, values, kSeed));
    for (const auto gate :
         {ElementOperation::kSwiglu, ElementOperation::kSwigluOai, ElementOperation::kGeglu})
      TRY(CheckPrepareGated(bench, format, gate, 3, 768, values, kSeed));
  }
  return Ok();
}

Status CheckPrepared(Workbench& bench) {
  for (int format = 0; format < kernels::kActivationFormatCount; ++format) {
    const auto type = static_cast<ActivationFormat>(format);
    for (const CheckValues values : kBothValues)
      TRY(CheckPrepare(bench, type, 19, type == ActivationFormat::kInt8Per256 ? 768 : 840, values,
                       kSeed));
    TRY(CheckGatherPrepared(bench, type, 19, 21, 768, kSeed));
    if (CanPrepareFrom(type)) TRY(CheckPreparedFrom(bench, type));
  }
  return Ok();
}

// Few rows and many, with outputs and columns that do not fill a workgroup; one row with many
// steps, and one with many workgroups, which are smaller.
Status CheckProducts(Workbench& bench, WeightType type) {
  constexpr ProductSize kFew = {
      .outputs = 75, .columns = 2560, .activation_rows = 19, .first_row = 15, .rows = 3};
  constexpr ProductSize kMany = {
      .outputs = 85, .columns = 768, .activation_rows = 40, .first_row = 1, .rows = 37};
  for (const CheckValues values : kBothValues) {
    TRY(CheckProduct(bench, type, kFew, values, kSeed));
    TRY(CheckProduct(bench, type, kMany, values, kSeed + 1));
  }
  constexpr ProductSize kOne = {
      .outputs = 20, .columns = 33 * 256, .activation_rows = 1, .first_row = 0, .rows = 1};
  constexpr ProductSize kManyOutputs = {
      .outputs = 8195, .columns = 256, .activation_rows = 1, .first_row = 0, .rows = 1};
  TRY(CheckProduct(bench, type, kManyOutputs, CheckValues::kOrdinary, kSeed + 3));
  return CheckProduct(bench, type, kOne, CheckValues::kVanishing, kSeed + 2);
}

// Matrices of more than one workgroup, in each direction and of each size.
Status CheckMatrixProducts(Workbench& bench, WeightType type) {
  constexpr ProductSize kSize = {
      .outputs = 141, .columns = 768, .activation_rows = 80, .first_row = 3, .rows = 75};
  constexpr ProductSize kExperts = {
      .outputs = 75, .columns = 512, .activation_rows = 7, .first_row = 2, .rows = 5};
  constexpr ProductSize kManyOfExperts = {
      .outputs = 75, .columns = 512, .activation_rows = 150, .first_row = 2, .rows = 145};
  for (const CheckValues values : kBothValues) {
    TRY(CheckProduct(bench, type, kSize, values, kSeed));
    TRY(CheckExpertProduct(bench, type, kManyOfExperts, kWideMatrixRows, kSeed + 1, values));
  }
  return CheckExpertProduct(bench, type, kExperts, kMatrixRows, kSeed);
}

Status CheckElementOperations(Workbench& bench) {
  constexpr auto kLast = static_cast<int>(ElementOperation::kGateBySigmoid);
  for (int operation = 0; operation <= kLast; ++operation) {
    for (const CheckValues values : kBothValues)
      TRY(CheckElements(bench, static_cast<ElementOperation>(operation), 4097, values, kSeed));
  }
  return Ok();
}

Status CheckConversions(Workbench& bench) {
  for (int conversion = 0; conversion <= static_cast<int>(Conversion::kFromBf16); ++conversion)
    TRY(CheckConversion(bench, static_cast<Conversion>(conversion), 4097, kSeed));
  return Ok();
}

Status CheckFixedPoint(Workbench& bench) {
  for (const CheckValues values : kBothValues) TRY(CheckFixedSums(bench, 5, 1031, values, kSeed));
  TRY(CheckWeightedSum(bench, 3, 8, 257, true, kSeed));
  TRY(CheckWeightedSum(bench, 3, 8, 257, false, kSeed));
  return CheckWeightedSum(bench, 3, 8, 257, false, kSeed + 1);
}

Status CheckRowOperations(Workbench& bench) {
  for (const CheckValues values : kBothValues) {
    TRY(CheckRmsNorm(bench, 5, 1003, values == CheckValues::kOrdinary, values, kSeed));
    TRY(CheckSoftmax(bench, 3, 261, values, kSeed));
    TRY(CheckArgmax(bench, 3, 3001, values, kSeed));
  }
  return Ok();
}

Status CheckTurns(Workbench& bench) {
  for (const bool inverse : {false, true}) {
    TRY(CheckRope(bench, kernels::RopeLayout::kAdjacent, inverse, 3, 2, 33, kSeed));
    TRY(CheckRope(bench, kernels::RopeLayout::kHalves, inverse, 3, 2, 33, kSeed));
  }
  return CheckHadamard(bench, 3, 128, kSeed);
}

Status CheckTables(Workbench& bench) {
  for (const TableType type : {TableType::kF32, TableType::kF16, TableType::kBf16})
    TRY(CheckGatherRows(bench, type, 5, 130, kSeed));
  return Ok();
}

Status CheckRouters(Workbench& bench) {
  for (const CheckValues values : kBothValues)
    TRY(CheckChooseExperts(bench, 5, {.experts = 130, .used = 6}, values, kSeed));
  for (const CheckValues values : kBothValues)
    TRY(CheckChooseExperts(bench, 5, {.experts = 128, .used = 6, .groups = 8}, values, kSeed));
  TRY(CheckChooseExperts(bench, 5, {.experts = 9, .used = 3, .is_given = true},
                         CheckValues::kOrdinary, kSeed));
  for (const CheckValues values : kBothValues)
    TRY(CheckAddByExpert(bench, 9, 5, 131, values, kSeed));
  return CheckGroupExperts(bench, 600, 259, 4, kSeed);
}

// Products with a matrix for every row: each row by itself, and rows of a matrix together.
Status CheckExperts(Workbench& bench, WeightType type) {
  constexpr ProductSize kSize = {
      .outputs = 75, .columns = 512, .activation_rows = 7, .first_row = 2, .rows = 5};
  const bool is_float = type <= WeightType::kBF16;
  for (const uint32_t together : {1u, 4u, is_float ? kFewRows : kManyRows})
    TRY(CheckExpertProduct(bench, type, kSize, together, kSeed));
  return Ok();
}

// Blocks of few rows, for which F16 has shaders of its own: as in models, with infinities, and with
// products that vanish.
Status CheckFewRows(Workbench& bench) {
  for (const uint32_t rows : {1u, 2u, 4u, 8u}) {
    // Without a native fma there are none for more rows.
    if (rows > 2 && !bench.kernels().arithmetic().native_fma) break;
    AttentionSize size = {.key_dim = 80,
                          .value_dim = 96,
                          .heads = 3,
                          .kv_heads = 2,
                          .tokens = 3,
                          .position = 389,
                          .window = 200,
                          .window_sinks = 4,
                          .sinks = true,
                          .split = rows == 2 || rows == 8,
                          .block_rows = rows};
    TRY(CheckAttention(bench, KvType::kF16, size, CheckValues::kOrdinary, kSeed));
    size.infinities = true;
    TRY(CheckAttention(bench, KvType::kF16, size, CheckValues::kOrdinary, kSeed + rows));
    size.window = 0;
    size.vanishing = true;
    TRY(CheckAttention(bench, KvType::kF16, size, CheckValues::kOrdinary, kSeed + rows));
  }
  return Ok();
}

// Pages merged in the same kernel and in a second one, with and without a window and sinks.
Status CheckPages(Workbench& bench, KvType type) {
  AttentionSize size = {.key_dim = 72,
                        .value_dim = 72,
                        .heads = 3,
                        .kv_heads = 2,
                        .tokens = 4,
                        .position = 389,
                        .window = 200,
                        .window_sinks = 4,
                        .sinks = true};
  TRY(CheckAttention(bench, type, size, CheckValues::kOrdinary, kSeed));
  size.window = 0;
  size.sinks = false;
  size.split = true;
  TRY(CheckAttention(bench, type, size, CheckValues::kOrdinary, kSeed + 1));
  // Few positions and many rows: sums that a sink rounds.
  size.tokens = 24;
  size.position = 9;
  size.sinks = true;
  for (const bool split : {false, true}) {
    size.split = split;
    TRY(CheckAttention(bench, type, size, CheckValues::kOrdinary, kSeed + 2));
  }
  size.query_scale = 40.0f;
  size.sinks = false;
  return CheckAttention(bench, type, size, CheckValues::kHostile, kSeed + 3);
}

Status CheckCappedPages(Workbench& bench, KvType type) {
  AttentionSize size = {.key_dim = 72,
                        .value_dim = 72,
                        .heads = 3,
                        .kv_heads = 2,
                        .tokens = 4,
                        .position = 389,
                        .cap = 1.5f};
  TRY(CheckAttention(bench, type, size, CheckValues::kOrdinary, kSeed));
  size.split = true;
  size.query_scale = 40.0f;
  return CheckAttention(bench, type, size, CheckValues::kHostile, kSeed + 1);
}

Status CheckWrittenPages(Workbench& bench, KvType type) {
  for (const CheckValues values : kBothValues)
    TRY(CheckWriteRows(bench, type,
                       {.key_dim = 80, .value_dim = 80, .kv_heads = 2, .position = 125, .rows = 6},
                       values, kSeed));
  WriteRowsSize turned = {.key_dim = 80,
                          .value_dim = 80,
                          .kv_heads = 2,
                          .position = 125,
                          .rows = 6,
                          .pairs = 30,
                          .unrotated = 12};
  TRY(CheckWriteRows(bench, type, turned, CheckValues::kHostile, kSeed + 1));
  turned.layout = kernels::RopeLayout::kHalves;
  return CheckWriteRows(bench, type, turned, CheckValues::kOrdinary, kSeed + 2);
}

// Packs, writes and reads rows.
Status CheckRowFormats(Workbench& bench) {
  for (const kernels::LatentFormat& format : {kHalves, kEightBits, kFourBits}) {
    for (const CheckValues values : kBothValues)
      TRY(CheckLatentRows(bench, {format, 35, 30, 32}, values, kSeed));
  }
  return Ok();
}

Status CheckCompressedRows(Workbench& bench) {
  for (const CheckValues values : kBothValues)
    TRY(CheckPool(bench, {80, 4, true, 122, 11}, values, kSeed));
  return Ok();
}

Status CheckRowRanks(Workbench& bench) {
  TRY(CheckRanks(bench, {kHalves, 3, 70, 21}, kSeed));
  return CheckRanks(bench, {kFourBits, 19, 70, 21}, kSeed);
}

Status CheckLatent(Workbench& bench) {
  TRY(CheckLatentAttention(bench, {kEightBits, 3, 2, 150, 40, 9}, kSeed));
  return CheckLatentAttention(bench, {kHalves, 2, 1, 40, 9, 2}, kSeed);
}

Status CheckSharedFormats(Workbench& bench) {
  for (const kernels::LatentFormat& format : {kFineBytes, kScaledBits}) {
    for (const CheckValues values : kBothValues)
      TRY(CheckLatentRows(bench, {format, 35, 30, 32, 2}, values, kSeed));
  }
  return Ok();
}

Status CheckSharedRows(Workbench& bench) {
  for (const CheckValues values : kBothValues) {
    TRY(CheckPool(bench, {80, 2, false, 125, 8, true}, values, kSeed));
    TRY(CheckGateValues(bench, 4, 3, 80, values, kSeed));
  }
  return Ok();
}

Status CheckSharedAttention(Workbench& bench) {
  const kernels::LatentFormat fine = {kernels::LatentRows::kF8Fine, 32, 0};
  return CheckLatentAttention(bench, {fine, 3, 2, 150, 40, 9, kScaledBits}, kSeed);
}

Status CheckBlocksOfRows(Workbench& bench) {
  return CheckBlockRanks(bench, {kFourBits, 19, 70, 9, 8, 4}, kSeed);
}

Status CheckStates(Workbench& bench) {
  for (const bool in_turn : {false, true}) {
    const DeltaSizes sizes = {
        .key_heads = 2, .value_heads = 4, .key_dim = 32, .value_dim = 48, .in_turn = in_turn};
    for (const CheckValues values : kBothValues)
      TRY(CheckDeltaNet(bench, sizes, in_turn ? 4 : 3, values, kSeed));
  }
  return Ok();
}

// Operations whose results the nodes of a group send one another.
Status CheckParts(Workbench& bench) {
  for (const bool has_scores : {false, true})
    TRY(CheckOwnSums(bench, 3, 8, 257, has_scores, kSeed));
  return Ok();
}

Status CheckGaps(Workbench& bench) { return CheckCopyRows(bench, 5, 33, kSeed); }

Status CheckResidualStreams(Workbench& bench) {
  for (const CheckValues values : kBothValues) TRY(CheckStreams(bench, 4, 3, 129, values, kSeed));
  return Ok();
}

// Ok if float operations of this arithmetic pass their check.
Status TryArithmetic(Device& device, const ShaderSource& source, const Arithmetic& arithmetic) {
  const auto kernels = TRY(Kernels::Create(device, source, arithmetic));
  Workbench bench(*kernels);
  return CheckArithmetic(bench, kInputsOfAKind, kSeed);
}

}  // namespace

std::vector<Arithmetic> CandidateArithmetics(const DeviceTraits& traits) {
  std::vector<Arithmetic> candidates;
  for (const bool native_fma : {true, false}) {
    Arithmetic arithmetic{.native_fma = native_fma, .dot_products = traits.fast_dot_products};
    if (traits.flushes_denormals) {
      arithmetic.flush_by_mode = true;
      candidates.push_back(arithmetic);
      arithmetic.flush_by_mode = false;
    }
    candidates.push_back(arithmetic);
    arithmetic.flush_in_shader = true;
    candidates.push_back(arithmetic);
  }
  return candidates;
}

Result<Arithmetic> ChooseArithmetic(Device& device, const ShaderSource& source) {
  Error why = FailedPrecondition("no way to compute was tried");
  for (const Arithmetic& arithmetic : CandidateArithmetics(device.traits())) {
    const Status status = TryArithmetic(device, source, arithmetic);
    if (status.ok()) return arithmetic;
    if (status.error().code() != Code::kDataLoss) return status.error();
    why = status.error();
  }
  return WhyRefused(device, why);
}

std::vector<KernelCheck> KernelChecks(const KernelUse& use) {
  std::vector<KernelCheck> checks = {
      {"activations", CheckPrepared},    {"elements", CheckElementOperations},
      {"conversions", CheckConversions}, {"rows", CheckRowOperations},
      {"rows with gaps", CheckGaps},     {"turns", CheckTurns},
      {"rows of tables", CheckTables}};
  if (use.experts) {
    checks.push_back({"sums in fixed point", CheckFixedPoint});
    checks.push_back({"routers", CheckRouters});
  }
  if (use.latent) {
    checks.push_back({"streams", CheckResidualStreams});
    checks.push_back({"latent rows", CheckRowFormats});
    checks.push_back({"compressed rows", CheckCompressedRows});
    checks.push_back({"ranks", CheckRowRanks});
    checks.push_back({"latent attention", CheckLatent});
  }
  if (use.shared) {
    checks.push_back({"shared row formats", CheckSharedFormats});
    checks.push_back({"shared rows", CheckSharedRows});
    checks.push_back({"shared row attention", CheckSharedAttention});
    checks.push_back({"blocks of rows", CheckBlocksOfRows});
  }
  if (use.states) checks.push_back({"delta nets", CheckStates});
  if (use.parts) checks.push_back({"parts of groups", CheckParts});
  for (int i = 0; i < kernels::kWeightTypeCount; ++i) {
    const auto type = static_cast<WeightType>(i);
    if (!use.weights.Contains(type)) continue;
    const auto name = kernels::WeightTypeName(type);
    checks.push_back({fmt::format("products with {}", name),
                      [type](Workbench& bench) { return CheckProducts(bench, type); }});
    if (!use.experts) continue;
    checks.push_back({fmt::format("experts with {}", name),
                      [type](Workbench& bench) { return CheckExperts(bench, type); }});
  }
  for (const KvType type : {KvType::kF16, KvType::kBf16, KvType::kQ8, KvType::kQ8Int}) {
    if (!use.pages.Contains(type)) continue;
    const char* const name = NameOfType(type);
    checks.push_back({fmt::format("rows written as {}", name),
                      [type](Workbench& bench) { return CheckWrittenPages(bench, type); }});
    checks.push_back({fmt::format("pages of {}", name),
                      [type](Workbench& bench) { return CheckPages(bench, type); }});
    if (!use.capped) continue;
    checks.push_back({fmt::format("capped pages of {}", name),
                      [type](Workbench& bench) { return CheckCappedPages(bench, type); }});
  }
  if (use.pages.Contains(KvType::kF16))
    checks.push_back({"few rows and pages of f16", CheckFewRows});
  return checks;
}

std::vector<KernelCheck> MatrixChecks(const KernelUse& use) {
  std::vector<KernelCheck> checks;
  for (int i = 0; i < kernels::kWeightTypeCount; ++i) {
    const auto type = static_cast<WeightType>(i);
    if (!HasMatrixProducts(type) || !use.weights.Contains(type)) continue;
    checks.push_back({fmt::format("matrix products with {}", kernels::WeightTypeName(type)),
                      [type](Workbench& bench) { return CheckMatrixProducts(bench, type); }});
  }
  return checks;
}

Status CheckKernels(Kernels& kernels, const KernelUse& use) {
  Workbench bench(kernels);
  for (const KernelCheck& check : KernelChecks(use)) {
    const Status status = check.run(bench);
    if (!status.ok()) return WhyRefused(kernels.device(), status.error());
  }
  return Ok();
}

Result<MatrixElements> FindMatrixElements(Workbench& bench, const MatrixTile& tile) {
  constexpr uint32_t kElements = 8;
  const Buffer out = TRY(bench.Room(uint64_t{tile.subgroup} * kElements * sizeof(uint32_t)));
  TRY(bench.Run([&](Commands& commands) {
    return bench.kernels().Record(commands, "matrix_elements",
                                  {tile.outputs, tile.rows, tile.columns, tile.subgroup},
                                  out.address(), {}, tile.subgroup);
  }));
  const auto places = ContentOf<uint32_t>(out, size_t{tile.subgroup} * kElements);
  const auto first_alike = [&](uint32_t n, uint32_t mask) {
    for (uint32_t m = 0; m < n; ++m) {
      bool alike = true;
      for (uint32_t at = 0; at < places.size(); at += kElements)
        alike = alike && ((places[at + m] ^ places[at + n]) & mask) == 0;
      if (alike) return m;
    }
    return n;
  };
  MatrixElements found = {.same_output = 0, .same_row = 0};
  for (uint32_t n = 0; n < kElements; ++n) {
    found.same_output |= first_alike(n, 0xffff) << 4 * n;
    found.same_row |= first_alike(n, 0xffff0000) << 4 * n;
  }
  return found;
}

Status TryMatrices(Kernels& kernels, const KernelUse& use) {
  const DeviceTraits& traits = kernels.device().traits();
  const auto not_used = [&](std::string why) {
    kernels.UseNoMatrices(std::move(why));
    return Ok();
  };
  if (!traits.cooperative_matrix) return not_used("the driver has none");
  if (!traits.matrix) return not_used("the driver has no matrices of bytes that fit");
  if (!kernels.arithmetic().native_fma) return not_used("the device has no fma of its own");
  Workbench bench(kernels);
  const Result<MatrixElements> elements = FindMatrixElements(bench, *traits.matrix);
  if (!elements.ok()) {
    if (kernels.device().lost()) return elements.error();
    return not_used(std::string(elements.error().message()));
  }
  kernels.UseMatrices(*traits.matrix, *elements);
  for (const KernelCheck& check : MatrixChecks(use)) {
    const Status status = check.run(bench);
    if (status.ok()) continue;
    if (kernels.device().lost()) return status;
    return not_used(std::string(status.error().message()));
  }
  return Ok();
}

Result<std::unique_ptr<Kernels>> OpenCheckedKernels(Device& device, const ShaderSource& source,
                                                    const KernelUse& use) {
  const Arithmetic arithmetic = TRY(ChooseArithmetic(device, source));
  std::unique_ptr<Kernels> kernels = TRY(Kernels::Create(device, source, arithmetic));
  TRY(CheckKernels(*kernels, use));
  TRY(TryMatrices(*kernels, use));
  kernels->UseOnly(use);
  return kernels;
}

}  // namespace aster::vulkan
