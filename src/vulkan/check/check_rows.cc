// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/check/check_rows.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "kernels/routing.h"
#include "vulkan/kernels/experts.h"

namespace aster::vulkan {
namespace {

using kernels::kOpsRef;

constexpr const char* kOperationNames[] = {"exp",
                                           "sigmoid",
                                           "silu",
                                           "softplus",
                                           "root of softplus",
                                           "scaling",
                                           "addition of rows",
                                           "multiplication of rows",
                                           "scaled addition",
                                           "swiglu",
                                           "swiglu of gpt-oss",
                                           "geglu",
                                           "softcap",
                                           "gates of sigmoids"};
constexpr const char* kConversionNames[] = {
    "conversion of rows to half", "conversion of rows to bfloat16", "conversion of rows from half",
    "conversion of rows from bfloat16"};

// Arguments for which exp (the first two) or softplus (the others) gives another float if any of
// its polynomial's coefficients changes by one unit. Only one number in thousands is so sensitive.
constexpr float kSensitive[] = {-0x1.86918p+3f, 0x1.42c0c8p-2f, 0x1.6f6edp-6f, -0x1.ac52ep-4f};

std::vector<float> ReferenceOf(ElementOperation operation, const std::vector<float>& a,
                               const std::vector<float>& b, float factor) {
  const size_t count = a.size();
  std::vector<float> y = b;
  switch (operation) {
    case ElementOperation::kExp:
      kOpsRef.exp(a.data(), count, y.data());
      break;
    case ElementOperation::kSigmoid:
      kOpsRef.sigmoid(a.data(), count, y.data());
      break;
    case ElementOperation::kSilu:
      kOpsRef.silu(a.data(), count, y.data());
      break;
    case ElementOperation::kSoftplus:
      kOpsRef.softplus(a.data(), count, y.data());
      break;
    case ElementOperation::kSqrtSoftplus:
      kOpsRef.sqrt_softplus(a.data(), count, y.data());
      break;
    case ElementOperation::kScale:
      kOpsRef.scale(a.data(), count, factor, y.data());
      break;
    case ElementOperation::kAdd:
      kOpsRef.add(a.data(), b.data(), count, y.data());
      break;
    case ElementOperation::kMultiply:
      kOpsRef.multiply(a.data(), b.data(), count, y.data());
      break;
    case ElementOperation::kAddScaled:
      kOpsRef.add_scaled(a.data(), count, factor, y.data());
      break;
    case ElementOperation::kSwiglu:
      kOpsRef.swiglu(a.data(), b.data(), count, factor, y.data());
      break;
    case ElementOperation::kSwigluOai:
      kOpsRef.swiglu_oai(a.data(), b.data(), count, factor, y.data());
      break;
    case ElementOperation::kGeglu:
      kOpsRef.geglu(a.data(), b.data(), count, factor, y.data());
      break;
    case ElementOperation::kSoftcap:
      kOpsRef.softcap(a.data(), count, factor, y.data());
      break;
    case ElementOperation::kGateBySigmoid:
      kOpsRef.sigmoid(b.data(), count, y.data());
      kOpsRef.multiply(a.data(), y.data(), count, y.data());
      break;
  }
  return y;
}

Status CompareRows(std::string_view what, const std::vector<float>& want, const Buffer& got) {
  return CompareFloats(what, want, ContentOf<float>(got, want.size()));
}

}  // namespace

Status CheckElements(Workbench& bench, ElementOperation operation, uint32_t count,
                     CheckValues values, uint64_t seed) {
  // Each row of the second operand is used several times, and its rows have gaps.
  const uint32_t b_count = DivideRoundingUp(count, 3), b_stride = b_count + 5;
  std::vector<float> a = CheckFloats(count, values, seed);
  for (float& x : a) x *= 8.0f;
  std::copy_n(kSensitive, std::min(a.size(), std::size(kSensitive)), a.begin());
  const std::vector<float> part = CheckFloats(size_t{2} * b_stride, values, seed + 1);
  std::vector<float> b(count);
  for (uint32_t i = 0; i < count; ++i) b[i] = part[i / (2 * b_count) * b_stride + i % b_count];
  const bool has_limit =
      operation >= ElementOperation::kSwiglu && operation <= ElementOperation::kGeglu;
  const float factor = has_limit && seed % 2 == 0 ? kCheckInfinity : 3.3f;
  const std::vector<float> want = ReferenceOf(operation, a, b, factor);
  const Buffer a_buffer = TRY(bench.Put(a));
  const Buffer b_buffer = TRY(bench.Put(part));
  const Buffer out = TRY(bench.Room(uint64_t{count} * 4));
  TRY(bench.Run([&](Commands& commands) {
    return RecordElements(bench.kernels(), commands,
                          {.operation = operation,
                           .a = a_buffer.address(),
                           .b = b_buffer.address(),
                           .b_count = b_count,
                           .b_share = 2 * b_count,
                           .b_stride = b_stride,
                           .y = out.address(),
                           .count = count,
                           .factor = factor});
  }));
  return CompareRows(kOperationNames[static_cast<size_t>(operation)], want, out);
}

Status CheckConversion(Workbench& bench, Conversion conversion, uint32_t count, uint64_t seed) {
  const bool widens = conversion == Conversion::kFromF16 || conversion == Conversion::kFromBf16;
  const uint32_t words = DivideRoundingUp(count, 2);
  const std::vector<uint32_t> in = CheckWords(widens ? words : count, seed);
  std::vector<uint32_t> want(widens ? count : words);
  const auto* floats = reinterpret_cast<const float*>(in.data());
  const auto* halves = reinterpret_cast<const uint16_t*>(in.data());
  auto* floats_out = reinterpret_cast<float*>(want.data());
  auto* halves_out = reinterpret_cast<uint16_t*>(want.data());
  switch (conversion) {
    case Conversion::kToF16:
      kOpsRef.to_f16(floats, count, halves_out);
      break;
    case Conversion::kToBf16:
      kOpsRef.to_bf16(floats, count, halves_out);
      break;
    case Conversion::kFromF16:
      kOpsRef.from_f16(halves, count, floats_out);
      break;
    case Conversion::kFromBf16:
      kOpsRef.from_bf16(halves, count, floats_out);
      break;
  }
  const Buffer x = TRY(bench.Put(in));
  const Buffer y = TRY(bench.Room(want.size() * 4));
  TRY(bench.Run([&](Commands& commands) {
    return RecordConversion(bench.kernels(), commands, conversion, x.address(), count, y.address());
  }));
  return CompareWords(kConversionNames[static_cast<size_t>(conversion)], want,
                      ContentOf<uint32_t>(y, want.size()));
}

Status CheckFixedSums(Workbench& bench, uint32_t terms, uint32_t count, CheckValues values,
                      uint64_t seed) {
  const std::vector<float> y = CheckFloats(size_t{terms} * count, values, seed);
  const std::vector<float> weights = CheckFloats(terms, CheckValues::kOrdinary, seed + 1);
  std::vector<int64_t> sums(count);
  std::vector<float> want(count);
  for (uint32_t k = 0; k < terms; ++k)
    kOpsRef.fixed_accumulate(sums.data(), y.data() + size_t{k} * count, count, weights[k]);
  std::vector<int64_t> twice = sums;
  kOpsRef.fixed_add(twice.data(), sums.data(), count);
  kOpsRef.fixed_finish(twice.data(), count, want.data());
  const Buffer y_buffer = TRY(bench.Put(y));
  const Buffer sum_buffer = TRY(bench.Put(std::vector<int64_t>(count)));
  const Buffer more_buffer = TRY(bench.Put(sums));
  const Buffer out = TRY(bench.Room(uint64_t{count} * 4));
  TRY(bench.Run([&](Commands& commands) -> Status {
    for (uint32_t k = 0; k < terms; ++k) {
      TRY(RecordFixedAccumulate(bench.kernels(), commands, sum_buffer.address(),
                                y_buffer.address() + uint64_t{k} * count * 4, count, weights[k]));
      commands.Barrier();
    }
    TRY(RecordFixedAdd(bench.kernels(), commands, sum_buffer.address(), more_buffer.address(),
                       count));
    commands.Barrier();
    return RecordFixedFinish(bench.kernels(), commands, sum_buffer.address(), count, out.address());
  }));
  TRY(CompareBytes("sums in fixed point", std::span<const int64_t>(twice), sum_buffer));
  return CompareRows("sums in fixed point as floats", want, out);
}

Status CheckWeightedSum(Workbench& bench, uint32_t rows, uint32_t terms, uint32_t width,
                        bool has_places, uint64_t seed) {
  const uint32_t places = rows * terms;
  const std::vector<float> y = CheckFloats(size_t{places} * width, CheckValues::kOrdinary, seed);
  const std::vector<float> weights = CheckFloats(places, CheckValues::kOrdinary, seed + 1);
  std::vector<uint32_t> chosen = CheckWords(places, seed);
  for (uint32_t i = 0; i < places; ++i) chosen[i] = has_places ? chosen[i] % places : i;
  const std::vector<float> more =
      CheckFloats(size_t{rows} * width, CheckValues::kOrdinary, seed + 2);
  const std::vector<float> scores = CheckFloats(rows, CheckValues::kOrdinary, seed + 3);
  const bool has_scores = seed % 2 == 1;
  std::vector<float> want(size_t{rows} * width);
  for (uint32_t row = 0; row < rows; ++row) {
    float share = 1.0f;
    if (has_scores) kOpsRef.sigmoid(&scores[row], 1, &share);
    std::vector<int64_t> sums(width);
    for (uint32_t k = row * terms; k < (row + 1) * terms; ++k)
      kOpsRef.fixed_accumulate(sums.data(), y.data() + size_t{chosen[k]} * width, width,
                               weights[k]);
    if (!has_places)
      kOpsRef.fixed_accumulate(sums.data(), more.data() + size_t{row} * width, width, share);
    kOpsRef.fixed_finish(sums.data(), width, want.data() + size_t{row} * width);
  }
  const Buffer y_buffer = TRY(bench.Put(y));
  const Buffer place_buffer = TRY(bench.Put(chosen));
  const Buffer weight_buffer = TRY(bench.Put(weights));
  const Buffer more_buffer = TRY(bench.Put(more));
  const Buffer score_buffer = TRY(bench.Put(scores));
  const Buffer out = TRY(bench.Room(want.size() * 4));
  TRY(bench.Run([&](Commands& commands) {
    return RecordWeightedSum(bench.kernels(), commands,
                             {.terms = y_buffer.address(),
                              .places = has_places ? place_buffer.address() : 0,
                              .weights = weight_buffer.address(),
                              .more = has_places ? 0 : more_buffer.address(),
                              .more_scores = has_scores ? score_buffer.address() : 0,
                              .rows = rows,
                              .width = width,
                              .terms_of_row = terms,
                              .result = out.address()});
  }));
  return CompareRows("weighted sum of rows", want, out);
}

// Terms of other machines are NaN here, as uninitialised memory may be.
Status CheckOwnSums(Workbench& bench, uint32_t rows, uint32_t terms, uint32_t width,
                    bool has_scores, uint64_t seed) {
  const uint32_t slots = rows * terms;
  std::vector<float> y = CheckFloats(size_t{slots} * width, CheckValues::kOrdinary, seed);
  const std::vector<float> weights = CheckFloats(slots, CheckValues::kOrdinary, seed + 1);
  const std::vector<float> more =
      CheckFloats(size_t{rows} * width, CheckValues::kOrdinary, seed + 2);
  const std::vector<float> scores = CheckFloats(rows, CheckValues::kOrdinary, seed + 3);
  const std::vector<uint32_t> words = CheckWords(size_t{rows} * (terms + 1), seed + 4);
  std::vector<uint32_t> places;
  std::vector<int64_t> want(size_t{rows} * width);
  for (uint32_t row = 0; row < rows; ++row) {
    int64_t* const sums = want.data() + size_t{row} * width;
    for (uint32_t k = 0; k < terms; ++k) {
      const uint32_t slot = row * terms + k;
      const bool is_here = words[places.size()] % 2 == 0;
      places.push_back(is_here ? slot : kElsewhere);
      float* const term = y.data() + size_t{slot} * width;
      if (is_here) kOpsRef.fixed_accumulate(sums, term, width, weights[slot]);
      if (!is_here) std::fill_n(term, width, std::numeric_limits<float>::quiet_NaN());
    }
    // Rows in another order.
    const bool is_here = words[places.size()] % 2 == 0;
    const uint32_t place = rows - 1 - row;
    places.push_back(is_here ? place : kElsewhere);
    float share = 1.0f;
    if (has_scores) kOpsRef.sigmoid(&scores[row], 1, &share);
    if (is_here) kOpsRef.fixed_accumulate(sums, more.data() + size_t{place} * width, width, share);
  }
  const Buffer y_buffer = TRY(bench.Put(y));
  const Buffer place_buffer = TRY(bench.Put(places));
  const Buffer weight_buffer = TRY(bench.Put(weights));
  const Buffer more_buffer = TRY(bench.Put(more));
  const Buffer score_buffer = TRY(bench.Put(scores));
  const Buffer out = TRY(bench.Room(want.size() * sizeof(int64_t)));
  TRY(bench.Run([&](Commands& commands) {
    return RecordOwnSums(bench.kernels(), commands,
                         {.terms = y_buffer.address(),
                          .places = place_buffer.address(),
                          .weights = weight_buffer.address(),
                          .more = more_buffer.address(),
                          .more_scores = has_scores ? score_buffer.address() : 0,
                          .rows = rows,
                          .width = width,
                          .terms_of_row = terms,
                          .result = out.address()});
  }));
  return CompareBytes("sums of experts here", std::span<const int64_t>(want), out);
}

Status CheckRmsNorm(Workbench& bench, uint32_t rows, uint32_t count, bool weighted,
                    CheckValues values, uint64_t seed) {
  const uint32_t stride = count + 5;
  const std::vector<float> x = CheckFloats(size_t{rows} * stride, values, seed);
  const std::vector<float> weight = CheckFloats(count, CheckValues::kOrdinary, seed + 1);
  constexpr float kEpsilon = 1e-6f;
  std::vector<float> want(size_t{rows} * count);
  kOpsRef.rms_norm(x.data(), stride, rows, count, weighted ? weight.data() : nullptr, kEpsilon,
                   want.data(), count);
  const Buffer in = TRY(bench.Put(x));
  const Buffer weight_buffer = TRY(bench.Put(weight));
  const Buffer out = TRY(bench.Room(want.size() * 4));
  TRY(bench.Run([&](Commands& commands) {
    return RecordRmsNorm(bench.kernels(), commands,
                         {.x = in.address(),
                          .x_stride = stride,
                          .rows = rows,
                          .count = count,
                          .weight = weighted ? weight_buffer.address() : 0,
                          .epsilon = kEpsilon,
                          .y = out.address(),
                          .y_stride = count});
  }));
  return CompareRows("RMS norm", want, out);
}

Status CheckSoftmax(Workbench& bench, uint32_t rows, uint32_t count, CheckValues values,
                    uint64_t seed) {
  std::vector<float> x = CheckFloats(size_t{rows} * count, values, seed);
  // One row of minus infinities, whose softmax is nothing.
  if (values == CheckValues::kHostile) std::fill_n(x.begin(), count, -kCheckInfinity);
  std::vector<float> want(x.size());
  for (uint32_t row = 0; row < rows; ++row)
    kOpsRef.softmax(x.data() + size_t{row} * count, count, want.data() + size_t{row} * count);
  const Buffer in_place = TRY(bench.Put(x));
  TRY(bench.Run([&](Commands& commands) {
    return RecordSoftmax(bench.kernels(), commands,
                         {.x = in_place.address(),
                          .rows = rows,
                          .count = count,
                          .stride = count,
                          .y = in_place.address()});
  }));
  return CompareRows("softmax", want, in_place);
}

Status CheckArgmax(Workbench& bench, uint32_t rows, uint32_t count, CheckValues values,
                   uint64_t seed) {
  std::vector<float> x = CheckFloats(size_t{rows} * count, values, seed);
  // Few different numbers, so that the largest occurs more than once; and a row of minus
  // infinities.
  for (float& value : x) value = std::isnan(value) ? 0.0f : std::trunc(value * 2.0f);
  if (values == CheckValues::kHostile) std::fill_n(x.begin(), count, -kCheckInfinity);
  std::vector<uint32_t> want(rows);
  for (uint32_t row = 0; row < rows; ++row)
    want[row] = static_cast<uint32_t>(kOpsRef.argmax(x.data() + size_t{row} * count, count));
  const Buffer in = TRY(bench.Put(x));
  const Buffer out = TRY(bench.Room(uint64_t{rows} * 4));
  TRY(bench.Run([&](Commands& commands) {
    return RecordArgmax(bench.kernels(), commands,
                        {.x = in.address(),
                         .rows = rows,
                         .count = count,
                         .stride = count,
                         .indices = out.address()});
  }));
  return CompareWords("argmax", want, ContentOf<uint32_t>(out, rows));
}

Status CheckRope(Workbench& bench, kernels::RopeLayout layout, bool inverse, uint32_t tokens,
                 uint32_t heads, uint32_t pairs, uint64_t seed) {
  const uint32_t stride = 2 * pairs + 3;
  std::vector<float> x = CheckFloats(size_t{tokens} * heads * stride, CheckValues::kHostile, seed);
  const std::vector<float> cosines =
      CheckFloats(size_t{tokens} * pairs, CheckValues::kOrdinary, seed + 1);
  const std::vector<float> sines =
      CheckFloats(size_t{tokens} * pairs, CheckValues::kOrdinary, seed + 2);
  const Buffer in_place = TRY(bench.Put(x));
  const Buffer cosine_buffer = TRY(bench.Put(cosines));
  const Buffer sine_buffer = TRY(bench.Put(sines));
  for (uint32_t token = 0; token < tokens; ++token)
    kOpsRef.rope(x.data() + size_t{token} * heads * stride, stride, heads, pairs,
                 cosines.data() + size_t{token} * pairs, sines.data() + size_t{token} * pairs,
                 layout, inverse);
  TRY(bench.Run([&](Commands& commands) {
    return RecordRope(bench.kernels(), commands,
                      {.x = in_place.address(),
                       .stride = stride,
                       .rows = tokens * heads,
                       .rows_of_token = heads,
                       .pairs = pairs,
                       .cosines = cosine_buffer.address(),
                       .sines = sine_buffer.address(),
                       .layout = layout,
                       .inverse = inverse});
  }));
  return CompareRows("rope", x, in_place);
}

Status CheckHadamard(Workbench& bench, uint32_t rows, uint32_t count, uint64_t seed) {
  std::vector<float> x = CheckFloats(size_t{rows} * count, CheckValues::kOrdinary, seed);
  const Buffer in_place = TRY(bench.Put(x));
  kOpsRef.hadamard(x.data(), count, rows, count);
  TRY(bench.Run([&](Commands& commands) {
    return RecordHadamard(bench.kernels(), commands, in_place.address(), count, rows, count);
  }));
  return CompareRows("Hadamard transform", x, in_place);
}

Status CheckGatherRows(Workbench& bench, TableType type, uint32_t rows, uint32_t width,
                       uint64_t seed) {
  constexpr uint32_t kTableRows = 37;
  const uint32_t numbers = kTableRows * width;
  const std::vector<uint32_t> table =
      CheckWords(type == TableType::kF32 ? numbers : numbers / 2, seed);
  std::vector<float> all(numbers);
  const auto* halves = reinterpret_cast<const uint16_t*>(table.data());
  if (type == TableType::kF16) kOpsRef.from_f16(halves, numbers, all.data());
  if (type == TableType::kBf16) kOpsRef.from_bf16(halves, numbers, all.data());
  if (type == TableType::kF32) std::memcpy(all.data(), table.data(), numbers * sizeof(float));
  std::vector<uint32_t> indices = CheckWords(rows, seed + 1);
  std::vector<float> want;
  for (uint32_t& index : indices) {
    index %= kTableRows;
    const auto first = all.begin() + static_cast<ptrdiff_t>(index * width);
    want.insert(want.end(), first, first + static_cast<ptrdiff_t>(width));
  }
  const Buffer table_buffer = TRY(bench.Put(table));
  const Buffer index_buffer = TRY(bench.Put(indices));
  const Buffer out = TRY(bench.Room(want.size() * 4));
  TRY(bench.Run([&](Commands& commands) {
    return RecordGatherRows(bench.kernels(), commands,
                            {.type = type,
                             .table = table_buffer.address(),
                             .indices = index_buffer.address(),
                             .rows = rows,
                             .width = width,
                             .result = out.address()});
  }));
  return CompareRows("rows of a table", want, out);
}

Status CheckAddByExpert(Workbench& bench, uint32_t rows, uint32_t experts, uint32_t width,
                        CheckValues values, uint64_t seed) {
  const std::vector<float> biases = CheckFloats(experts * width, values, seed);
  const std::vector<float> in = CheckFloats(rows * width, values, seed + 1);
  std::vector<uint32_t> ids(rows);
  for (uint32_t row = 0; row < rows; ++row) ids[row] = (row * 7 + 1) % experts;
  std::vector<float> want(in.size());
  for (uint32_t row = 0; row < rows; ++row) {
    kOpsRef.add(in.data() + row * width, biases.data() + ids[row] * width, width,
                want.data() + row * width);
  }
  const Buffer bias_buffer = TRY(bench.Put(biases));
  const Buffer id_buffer = TRY(bench.Put(ids));
  const Buffer out = TRY(bench.Put(in));
  TRY(bench.Run([&](Commands& commands) {
    return RecordAddByExpert(bench.kernels(), commands,
                             {.biases = bias_buffer.address(),
                              .ids = id_buffer.address(),
                              .rows = rows,
                              .width = width,
                              .y = out.address()});
  }));
  return CompareRows("biases of experts", want, out);
}

Status CheckChooseExperts(Workbench& bench, uint32_t rows, const CheckedChoice& choice,
                          CheckValues values, uint64_t seed) {
  const auto [experts, used, groups, is_given] = choice;
  std::vector<float> scores = CheckFloats(size_t{rows} * experts, values, seed);
  for (size_t i = 0; i < scores.size(); i += 3) scores[i] = scores[i / 2];
  const std::vector<float> bias = CheckFloats(experts, CheckValues::kOrdinary, seed + 1);
  const std::vector<float> scales = CheckFloats(experts, values, seed + 2);
  const bool has_bias = values == CheckValues::kHostile, has_scales = groups == 1;
  std::vector<int32_t> given;
  for (const uint32_t word : CheckWords(size_t{rows} * used, seed))
    given.push_back(static_cast<int32_t>(word % experts));
  const kernels::RoutingSpec spec{
      .normalized = !has_bias, .scale = 2.5f, .groups = groups, .used_groups = (groups + 1) / 2};
  std::vector<int32_t> want_ids = given;
  std::vector<float> want(size_t{rows} * used);
  for (size_t row = 0; row < rows; ++row) {
    const float* const of_row = scores.data() + row * experts;
    int32_t* const ids = want_ids.data() + row * used;
    if (!is_given) {
      kernels::SelectGroupedExperts(spec, of_row, has_bias ? bias.data() : nullptr, experts, used,
                                    ids);
    }
    kernels::RouterWeights(spec, of_row, ids, used, want.data() + row * used);
    for (uint32_t i = 0; i < used && has_scales; ++i) want[row * used + i] *= scales[ids[i]];
  }
  const Buffer score_buffer = TRY(bench.Put(scores));
  const Buffer bias_buffer = TRY(bench.Put(bias));
  const Buffer scale_buffer = TRY(bench.Put(scales));
  const Buffer given_buffer = TRY(bench.Put(given));
  const Buffer ids = TRY(bench.Room(want_ids.size() * sizeof(int32_t)));
  const Buffer out = TRY(bench.Room(want.size() * sizeof(float)));
  TRY(bench.Run([&](Commands& commands) {
    return RecordChooseExperts(bench.kernels(), commands,
                               {.scores = score_buffer.address(),
                                .rows = rows,
                                .experts = experts,
                                .stride = experts,
                                .used = used,
                                .bias = has_bias ? bias_buffer.address() : 0,
                                .scales = has_scales ? scale_buffer.address() : 0,
                                .given = is_given ? given_buffer.address() : 0,
                                .spec = spec,
                                .ids = ids.address(),
                                .weights = out.address()});
  }));
  TRY(CompareBytes("experts that were chosen", std::span<const int32_t>(want_ids), ids));
  return CompareFloats("weights of experts", want, ContentOf<float>(out, want.size()));
}

}  // namespace aster::vulkan
