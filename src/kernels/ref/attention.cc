// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/attention.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "kernels/ops.h"
#include "kernels/ref/activations_ref.h"
#include "kernels/ref/math.h"
#include "quant/half.h"

namespace aster::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int kLanes = 16;
constexpr int kTileDepth = 32;  // bf16: how many products an AMX tile sums

float RoundToBf16(float x) { return quant::Bfloat16ToFloat(quant::FloatToBfloat16(x)); }

uint16_t LoadHalf(const uint8_t* p) {
  uint16_t half;
  std::memcpy(&half, p, 2);
  return half;
}

// Row `position` of a page, exactly, as floats; for bytes without their scales, which are separate.
struct Row {
  std::array<float, kMaxHeadDim> key;
  std::array<float, kMaxHeadDim> value;
  std::array<float, kMaxHeadDim / kQ8Group> key_scales;
  std::array<float, kMaxHeadDim / kQ8Group> value_scales;
};

void Decode(KvType type, const uint8_t* elements, int dim, float* out, float* scales) {
  for (int d = 0; d < dim; ++d) {
    switch (type) {
      case KvType::kF16:
        out[d] = quant::HalfToFloat(LoadHalf(elements + 2 * d));
        break;
      case KvType::kBf16:
        out[d] = quant::Bfloat16ToFloat(LoadHalf(elements + 2 * d));
        break;
      case KvType::kQ8:
      case KvType::kQ8Int:
        out[d] = static_cast<float>(static_cast<int8_t>(elements[d]));
        scales[d / kQ8Group] = quant::HalfToFloat(LoadHalf(elements + dim + d / kQ8Group * 2));
        break;
    }
  }
}

void ReadRow(const PageLayout& layout, const uint8_t* page, int position, Row& row) {
  std::array<uint8_t, 4 * kMaxHeadDim + kMaxHeadDim / 4> bytes;
  ExportRows(layout, page, position, 1, bytes.data());
  const uint8_t* values = bytes.data() + layout.key_row_bytes;
  Decode(layout.type, bytes.data(), layout.key_dim, row.key.data(), row.key_scales.data());
  Decode(layout.type, values, layout.value_dim, row.value.data(), row.value_scales.data());
}

// Bytes of one exported half row.
void Encode(KvType type, const float* x, int dim, uint8_t* out) {
  if (type == KvType::kQ8 || type == KvType::kQ8Int) {
    std::array<int8_t, kMaxHeadDim> quants;
    std::array<uint16_t, kMaxHeadDim / kQ8Group> scales;
    kOpsRef.to_q8(x, static_cast<size_t>(dim), quants.data(), scales.data());
    std::memcpy(out, quants.data(), static_cast<size_t>(dim));
    std::memcpy(out + dim, scales.data(), 2 * static_cast<size_t>((dim + kQ8Group - 1) / kQ8Group));
    return;
  }
  for (int d = 0; d < dim; ++d) {
    const uint16_t half =
        type == KvType::kF16 ? quant::FloatToHalf(x[d]) : quant::FloatToBfloat16(x[d]);
    std::memcpy(out + 2 * d, &half, 2);
  }
}

void WriteRows(const PageLayout& layout, int first, int count, const float* keys, size_t key_stride,
               const float* values, size_t value_stride, uint8_t* page) {
  for (int i = 0; i < count; ++i) {
    std::array<uint8_t, 4 * kMaxHeadDim + kMaxHeadDim / 4> bytes;
    const auto row = static_cast<size_t>(i);
    Encode(layout.type, keys + row * key_stride, layout.key_dim, bytes.data());
    Encode(layout.type, values + row * value_stride, layout.value_dim,
           bytes.data() + layout.key_row_bytes);
    ImportRows(layout, bytes.data(), first + i, 1, page);
  }
}

// The largest of bit patterns of magnitudes, which compare as integers do: NaN is above infinity.
// Returns the factor that makes it `most`, and its reciprocal; zeros if all are almost zero.
struct Units {
  float inverse;
  float unit;
};
Units UnitsOf(uint32_t largest, float most) {
  if (largest >= kInfinityBits) return {0.0f, std::numeric_limits<float>::quiet_NaN()};
  if (largest < kSmallestScaledBits) return {0.0f, 0.0f};
  const float magnitude = std::bit_cast<float>(largest);
  return {most / magnitude, magnitude / most};
}

uint32_t MagnitudeBits(float x) { return std::bit_cast<uint32_t>(x) & 0x7fffffffu; }

// A whole number; zero if there are no units.
int Rounded(float x, const Units& units) {
  return units.inverse == 0.0f ? 0 : static_cast<int>(std::nearbyintf(x * units.inverse));
}

size_t QuadsOf(size_t dim) { return (dim + kIntQuad - 1) / kIntQuad; }
size_t GroupsOf(size_t dim) { return (dim + kQ8Group - 1) / kQ8Group; }

// Byte d of a row of prepared queries.
size_t QueryByte(size_t d) { return d / kIntQuad * kQueryGroup * sizeof(float) + d % kIntQuad; }

// One row of kQ8Int, from its first word on.
void PrepareIntQuery(const float* row, size_t dim, float factor, float* out) {
  auto* const bytes = reinterpret_cast<uint8_t*>(out);
  for (size_t begin = 0; begin < dim; begin += kQ8Group) {
    const size_t end = std::min(dim, begin + kQ8Group);
    uint32_t largest = 0;
    for (size_t d = begin; d < end; ++d)
      largest = std::max(largest, MagnitudeBits(row[d] * factor));
    const Units units = UnitsOf(largest, 127.0f);
    int32_t start = 0;
    for (size_t d = begin; d < end; ++d) {
      const int quant = Rounded(row[d] * factor, units);
      bytes[QueryByte(d)] = static_cast<uint8_t>(quant);
      start -= 128 * quant;
    }
    const size_t scale = QuadsOf(dim) + begin / kQ8Group;
    out[scale * kQueryGroup] = units.unit;
    std::memcpy(out + (scale + GroupsOf(dim)) * kQueryGroup, &start, sizeof(start));
  }
}

void PrepareQueries(const PageLayout& layout, const float* q, const RowGrid& grid, float factor,
                    float* queries) {
  const auto dim = static_cast<size_t>(layout.key_dim);
  const size_t group_floats = QueryFloats(layout, kQueryGroup);
  std::fill_n(queries, QueryFloats(layout, grid.rows), 0.0f);
  for (size_t r = 0; r < grid.rows; ++r) {
    const float* row = q + r / grid.heads * grid.token_stride + r % grid.heads * grid.head_stride;
    float* group = queries + r / kQueryGroup * group_floats;
    if (layout.type == KvType::kQ8Int) {
      PrepareIntQuery(row, dim, factor, group + r % kQueryGroup);
      continue;
    }
    for (size_t d = 0; d < dim; ++d) {
      const float x = row[d] * factor;
      group[d * kQueryGroup + r % kQueryGroup] = layout.type == KvType::kBf16 ? RoundToBf16(x) : x;
    }
  }
}

bool Sees(const VisibleRows& visible, int64_t position) {
  return position < visible.sink_end || (position >= visible.begin && position < visible.end);
}

// The sum of a[i] * b[i]: one chain, or for bf16 an even and an odd one over every 32. Masked
// products are left out.
template <typename A, typename B, typename Present>
float Chain(KvType type, int count, A a, B b, Present present) {
  float sum = 0.0f;
  if (type != KvType::kBf16) {
    for (int i = 0; i < count; ++i) {
      if (present(i)) sum = std::fma(a(i), b(i), sum);
    }
    return sum;
  }
  for (int begin = 0; begin < count; begin += kTileDepth) {
    float chains[2] = {0.0f, 0.0f};
    for (int i = begin; i < std::min(count, begin + kTileDepth); ++i) {
      if (present(i)) chains[i % 2] = std::fma(a(i), b(i), chains[i % 2]);
    }
    sum = sum + (chains[0] + chains[1]);
  }
  return sum;
}

// Sums of bytes' products are exact, and the scales of both are applied after them.
float IntScore(const PageLayout& layout, const float* query, const Row& row) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(query);
  const size_t quads = QuadsOf(static_cast<size_t>(layout.key_dim));
  float score = 0.0f;
  for (int begin = 0; begin < layout.key_dim; begin += kQ8Group) {
    int dot = 0;
    for (int d = begin; d < std::min(layout.key_dim, begin + kQ8Group); ++d) {
      dot += static_cast<int8_t>(bytes[QueryByte(static_cast<size_t>(d))]) *
             static_cast<int>(row.key[d]);
    }
    const auto group = static_cast<size_t>(begin / kQ8Group);
    const float query_scale = query[(quads + group) * kQueryGroup];
    score = std::fma(static_cast<float>(dot), query_scale * row.key_scales[group], score);
  }
  return score;
}

// kQ8 sums the products with the bytes of a group and then applies the scale.
float Score(const PageLayout& layout, const float* query, const Row& row) {
  const auto chain = [&](int begin, int count) {
    return Chain(
        layout.type, count, [&](int i) { return query[(begin + i) * kQueryGroup]; },
        [&](int i) { return row.key[begin + i]; }, [](int) { return true; });
  };
  if (layout.type == KvType::kQ8Int) return IntScore(layout, query, row);
  if (layout.type != KvType::kQ8) return chain(0, layout.key_dim);
  float score = 0.0f;
  for (int begin = 0; begin < layout.key_dim; begin += kQ8Group) {
    const float part = chain(begin, std::min(kQ8Group, layout.key_dim - begin));
    score = std::fma(part, row.key_scales[begin / kQ8Group], score);
  }
  return score;
}

float TreeOf(float (*join)(float, float), std::array<float, kLanes> lanes) {
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] = join(lanes[i], lanes[i + half]);
  }
  return lanes[0];
}

float AddOf(float a, float b) { return a + b; }

using Weights = std::array<float, kPagePositions>;
using Seen = std::array<bool, kPagePositions>;

// The values of a group of elements, with their scales multiplied into the weights, and these
// rounded to whole numbers, the largest of which is kIntWeight.
void IntValues(const std::array<Row, kPagePositions>& rows, const Weights& weights,
               const Seen& sees, int group, int dim, float* values) {
  const auto weight = [&](int p) { return std::fabs(weights[p] * rows[p].value_scales[group]); };
  uint32_t largest = 0;
  for (int p = 0; p < kPagePositions; ++p) {
    if (sees[p]) largest = std::max(largest, MagnitudeBits(weight(p)));
  }
  const Units units = UnitsOf(largest, static_cast<float>(kIntWeight));
  for (int d = group * kQ8Group; d < std::min(dim, (group + 1) * kQ8Group); ++d) {
    int dot = 0;
    for (int p = 0; p < kPagePositions; ++p) {
      if (sees[p]) dot += Rounded(weight(p), units) * static_cast<int>(rows[p].value[d]);
    }
    values[d] = static_cast<float>(dot) * units.unit + 0.0f;  // no negative zero
  }
}

// The result of one query and one page.
struct PageResult {
  float max;
  float sum;
  std::array<float, kMaxHeadDim> values;
};

void AttendPage(const PageLayout& layout, const std::array<Row, kPagePositions>& rows,
                const float* query, const Seen& sees, float cap, PageResult& result) {
  Weights weights;
  std::array<float, kLanes> lanes;
  lanes.fill(-kInfinity);
  for (int p = 0; p < kPagePositions; ++p) {
    if (!sees[p]) continue;
    weights[p] = Score(layout, query, rows[p]);
    if (cap > 0.0f) weights[p] = ref::Softcap(weights[p], cap);
    lanes[p % kLanes] = ref::Max(weights[p], lanes[p % kLanes]);
  }
  result.max = TreeOf(ref::Max, lanes);
  const float base = result.max == -kInfinity ? 0.0f : result.max;
  lanes.fill(0.0f);
  for (int p = 0; p < kPagePositions; ++p) {
    if (!sees[p]) continue;
    weights[p] = ref::Exp2(weights[p] - base);
    if (layout.type == KvType::kBf16) weights[p] = RoundToBf16(weights[p]);
    lanes[p % kLanes] += weights[p];
  }
  result.sum = TreeOf(AddOf, lanes);
  if (layout.type == KvType::kQ8Int) {
    for (int group = 0; group * kQ8Group < layout.value_dim; ++group)
      IntValues(rows, weights, sees, group, layout.value_dim, result.values.data());
    return;
  }
  for (int d = 0; d < layout.value_dim; ++d) {
    const float value = Chain(
        layout.type, kPagePositions,
        [&](int p) {
          return layout.type == KvType::kQ8 ? weights[p] * rows[p].value_scales[d / kQ8Group]
                                            : weights[p];
        },
        [&](int p) { return rows[p].value[d]; }, [&](int p) { return sees[p]; });
    result.values[d] = value + 0.0f;  // no negative zero
  }
}

// Calls use(page, row, result) for every page that a row sees, pages ascending.
template <typename Use>
void ForEachResult(const AttentionJob& job, Use use) {
  const PageLayout& layout = *job.layout;
  // 2 MiB, only for threads that call this: a thread_local array would exist in every thread.
  static thread_local const auto rows_of_thread =
      std::make_unique<std::array<Row, kPagePositions>>();
  std::array<Row, kPagePositions>& rows = *rows_of_thread;
  for (size_t i = 0; i < job.page_count; ++i) {
    const int64_t start = (job.first_page + static_cast<int64_t>(i)) * kPagePositions;
    bool read = false;
    for (size_t r = 0; r < job.rows; ++r) {
      Seen sees;
      for (int p = 0; p < kPagePositions; ++p) sees[p] = Sees(job.visible[r], start + p);
      if (std::find(sees.begin(), sees.end(), true) == sees.end()) continue;
      if (!read) {
        for (int p = 0; p < kPagePositions; ++p) ReadRow(layout, job.pages[i], p, rows[p]);
        read = true;
      }
      const float* query =
          job.queries + r / kQueryGroup * QueryFloats(layout, kQueryGroup) + r % kQueryGroup;
      PageResult result;
      AttendPage(layout, rows, query, sees, job.cap, result);
      use(i, r, result);
    }
  }
}

// M' = max(m, M), and both sides scaled to it. The last addition makes negative zeros positive, so
// that merging a page without visible rows changes nothing.
void Merge(const PageLayout& layout, float max, float sum, const float* values, size_t row,
           const AttentionState& state) {
  const float joint = ref::Max(max, state.max[row]);
  const float base = joint == -kInfinity ? 0.0f : joint;
  const float old_factor = ref::Exp2(state.max[row] - base);
  const float new_factor = ref::Exp2(max - base);
  state.max[row] = joint;
  state.sum[row] = std::fma(sum, new_factor, state.sum[row] * old_factor);
  float* out = state.values + row * static_cast<size_t>(layout.value_stride);
  for (int d = 0; d < layout.value_dim; ++d) {
    out[d] = std::fma(values[d], new_factor, out[d] * old_factor) + 0.0f;
  }
}

void Attend(const AttentionJob& job, const AttentionState& state) {
  ForEachResult(job, [&](size_t, size_t row, const PageResult& result) {
    Merge(*job.layout, result.max, result.sum, result.values.data(), row, state);
  });
}

void AttendPages(const AttentionJob& job, const AttentionState& results) {
  const auto stride = static_cast<size_t>(job.layout->value_stride);
  ResetAttention(*job.layout, job.rows * job.page_count, results);
  ForEachResult(job, [&](size_t page, size_t row, const PageResult& result) {
    const size_t at = page * job.rows + row;
    results.max[at] = result.max;
    results.sum[at] = result.sum;
    std::copy_n(result.values.data(), job.layout->value_dim, results.values + at * stride);
  });
}

void MergePages(const PageLayout& layout, const AttentionState& results, size_t page_count,
                size_t rows, const AttentionState& state) {
  const auto stride = static_cast<size_t>(layout.value_stride);
  for (size_t i = 0; i < page_count * rows; ++i) {
    Merge(layout, results.max[i], results.sum[i], results.values + i * stride, i % rows, state);
  }
}

void Finish(const PageLayout& layout, const AttentionState& state, const float* sinks,
            const RowGrid& grid, float* out) {
  for (size_t r = 0; r < grid.rows; ++r) {
    float sum = state.sum[r];
    float factor = 1.0f;
    if (sinks != nullptr) {
      const float sink = sinks[r % grid.heads] * kLog2E;
      const float joint = ref::Max(sink, state.max[r]);
      const float base = joint == -kInfinity ? 0.0f : joint;
      factor = ref::Exp2(state.max[r] - base);
      sum = std::fma(sum, factor, ref::Exp2(sink - base));
    }
    float* row = out + r / grid.heads * grid.token_stride + r % grid.heads * grid.head_stride;
    const float* values = state.values + r * static_cast<size_t>(layout.value_stride);
    for (int d = 0; d < layout.value_dim; ++d) {
      row[d] = sum == 0.0f ? 0.0f : values[d] * factor / sum;
    }
  }
}

}  // namespace

const AttentionTable kAttentionRef = {
    .write_rows = WriteRows,
    .prepare_queries = PrepareQueries,
    .attend = Attend,
    .attend_pages = AttendPages,
    .merge_pages = MergePages,
    .finish = Finish,
};

}  // namespace aster::kernels
