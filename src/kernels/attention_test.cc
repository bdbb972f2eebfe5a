// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/attention.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "kernels/attention_test_support.h"
#include "kernels/ops_test_support.h"
#include "quant/half.h"

#if defined(__x86_64__)
#include "kernels/x86/attention_vnni_for_test.h"
#endif

namespace aster::kernels {
namespace {

constexpr KvType kTypes[] = {KvType::kF16, KvType::kBf16, KvType::kQ8, KvType::kQ8Int};
constexpr float kQuietNan = std::numeric_limits<float>::quiet_NaN();

// A context of keys and values, and queries that see parts of it.
struct Problem {
  KvType type = KvType::kF16;
  int key_dim = 64;
  int value_dim = 64;
  int64_t length = 300;  // positions written
  float cap = 0;         // of scores
  std::vector<VisibleRows> visible = {};
  std::vector<float> q = {};  // [rows][key_dim]
  std::vector<float> keys = {};
  std::vector<float> values = {};

  size_t rows() const { return visible.size(); }
  PageLayout layout() const { return MakePageLayout(type, key_dim, value_dim); }
};

Problem MakeProblem(KvType type, int key_dim, int value_dim, int64_t length,
                    std::vector<VisibleRows> visible, uint64_t seed, bool wild = false) {
  Problem problem = {.type = type, .key_dim = key_dim, .value_dim = value_dim, .length = length};
  const auto make = [&](size_t count, uint64_t salt) {
    return wild ? WildValues(count, seed + salt) : NormalValues(count, seed + salt);
  };
  problem.q = make(visible.size() * static_cast<size_t>(key_dim), 1);
  problem.keys = make(static_cast<size_t>(length * key_dim), 2);
  problem.values = make(static_cast<size_t>(length * value_dim), 3);
  problem.visible = std::move(visible);
  return problem;
}

// Queries of consecutive positions, `heads` of each, the last at the end of the context.
std::vector<VisibleRows> Causal(int64_t length, size_t rows, size_t heads, int64_t window = 0,
                                int64_t sinks = 0) {
  std::vector<VisibleRows> visible(rows);
  const size_t tokens = (rows + heads - 1) / heads;
  for (size_t r = 0; r < rows; ++r) {
    const int64_t position =
        length - static_cast<int64_t>(tokens) + static_cast<int64_t>(r / heads);
    visible[r] = VisibleTo(std::max<int64_t>(position, 0), window, sinks);
  }
  return visible;
}

std::unique_ptr<PageStore> Fill(const Problem& problem, const AttentionTable& table,
                                uint8_t garbage = 0) {
  const auto pages = static_cast<size_t>((problem.length + kPagePositions - 1) / kPagePositions);
  auto store = std::make_unique<PageStore>(problem.layout(), pages, garbage);
  store->Write(table, 0, problem.length, problem.keys.data(), problem.values.data());
  return store;
}

struct Prepared {
  std::vector<float> queries;
  AttentionJob job;
};

Prepared Prepare(const Problem& problem, const AttentionTable& table, const PageStore& store) {
  Prepared prepared;
  prepared.queries.resize(QueryFloats(store.layout(), problem.rows()), kQuietNan);
  const auto dim = static_cast<size_t>(problem.key_dim);
  table.prepare_queries(store.layout(), problem.q.data(),
                        {.rows = problem.rows(), .heads = 1, .token_stride = dim, .head_stride = 0},
                        QueryFactor(1.0f / std::sqrt(static_cast<float>(dim))),
                        prepared.queries.data());
  prepared.job = {.layout = &store.layout(),
                  .pages = store.pages().data(),
                  .page_count = store.pages().size(),
                  .first_page = 0,
                  .queries = prepared.queries.data(),
                  .visible = problem.visible.data(),
                  .rows = problem.rows(),
                  .cap = problem.cap};
  return prepared;
}

// Maxima, sums and the used part of the values: all relevant numbers of a state.
std::vector<float> Used(const PageLayout& layout, const StateBuffer& buffer) {
  std::vector<float> used = buffer.max;
  used.insert(used.end(), buffer.sum.begin(), buffer.sum.end());
  const auto stride = static_cast<size_t>(layout.value_stride);
  for (size_t r = 0; r < buffer.max.size(); ++r) {
    const auto row = buffer.values.begin() + static_cast<std::ptrdiff_t>(r * stride);
    used.insert(used.end(), row, row + layout.value_dim);
  }
  return used;
}

std::vector<float> AttendAll(const Problem& problem, const AttentionTable& table,
                             const PageStore& store) {
  const Prepared prepared = Prepare(problem, table, store);
  StateBuffer buffer(store.layout(), problem.rows());
  table.attend(prepared.job, buffer.state());
  return Used(store.layout(), buffer);
}

// Tables of this machine's instruction sets, and byte products emulated if it has none.
struct Tested {
  std::string name;
  const AttentionTable* table;
};

std::vector<Tested> AllTested() {
  std::vector<Tested> all;
  for (const Isa isa : AvailableIsas()) all.push_back({std::string(IsaName(isa)), &Attention(isa)});
#if defined(__x86_64__)
  if (all.size() > 1) all.push_back({"emulated_vnni", &kAttentionEmulatedVnni});
#endif
  return all;
}

class AttentionTest : public testing::TestWithParam<Tested> {
 protected:
  // Fills pages with each table, and compares them and their results.
  void ExpectEqualToReference(const Problem& problem) {
    const auto expected_store = Fill(problem, ref_);
    const auto store = Fill(problem, table_);
    for (size_t i = 0; i < store->pages().size(); ++i) {
      ASSERT_EQ(std::memcmp(expected_store->pages()[i], store->pages()[i], store->layout().bytes),
                0);
    }
    const Prepared expected_prepared = Prepare(problem, ref_, *expected_store);
    const Prepared prepared = Prepare(problem, table_, *store);
    ASSERT_TRUE(SameBits(expected_prepared.queries, prepared.queries));
    const auto expected = AttendAll(problem, ref_, *expected_store);
    ASSERT_TRUE(SameBits(expected, AttendAll(problem, table_, *store)));
    const size_t results = problem.rows() * store->pages().size();
    StateBuffer expected_results(store->layout(), results);
    StateBuffer actual_results(store->layout(), results);
    ref_.attend_pages(expected_prepared.job, expected_results.state());
    table_.attend_pages(prepared.job, actual_results.state());
    ASSERT_TRUE(
        SameBits(Used(store->layout(), expected_results), Used(store->layout(), actual_results)));
    StateBuffer merged(store->layout(), problem.rows());
    table_.merge_pages(store->layout(), actual_results.state(), store->pages().size(),
                       problem.rows(), merged.state());
    ASSERT_TRUE(SameBits(expected, Used(store->layout(), merged)));
  }

  const AttentionTable& table_ = *GetParam().table;
  const AttentionTable& ref_ = Attention(Isa::kRef);

 private:
  ComputeFloatMode mode_;
};

TEST_P(AttentionTest, EqualsTheReferenceForEveryNumberOfRows) {
  for (const KvType type : kTypes) {
    for (size_t rows = 1; rows <= 27; ++rows) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(type) << " " << rows);
      ExpectEqualToReference(MakeProblem(type, 32, 32, 150, Causal(150, rows, 1 + rows % 5), rows));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(AttentionTest, EqualsTheReferenceForEveryDimension) {
  std::vector<int> dims = {64, 65, 80, 96, 111, 112, 127, 128, 129, 192, 256, 512};
  for (int dim = 1; dim <= 50; ++dim) dims.push_back(dim);
  for (const KvType type : kTypes) {
    for (const int dim : dims) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(type) << " " << dim);
      const int value_dim = dim < 50 ? 51 - dim : dim;
      ExpectEqualToReference(MakeProblem(type, dim, value_dim, 40, Causal(40, 14, 3), 7));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(AttentionTest, EqualsTheReferenceForEveryLength) {
  for (const KvType type : kTypes) {
    for (int64_t length = 1; length <= 300; length += length < 40 ? 1 : 17) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(type) << " " << length);
      ExpectEqualToReference(MakeProblem(type, 16, 16, length, Causal(length, 5, 1), 7));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(AttentionTest, EqualsTheReferenceUnderEveryMask) {
  for (const KvType type : kTypes) {
    for (const int64_t window : {1, 2, 15, 16, 17, 100, 128, 129, 250}) {
      for (const int64_t sinks : {0, 1, 4, 33}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(type) << " " << window << " " << sinks);
        ExpectEqualToReference(
            MakeProblem(type, 20, 20, 300, Causal(300, 30, 2, window, sinks), 9));
        ExpectEqualToReference(MakeProblem(type, 20, 20, 300, Causal(300, 2, 2, window, sinks), 9));
        if (HasFatalFailure()) return;
      }
    }
    // Visible rows in random order, and rows that see nothing.
    Random random(11);
    std::vector<VisibleRows> visible;
    for (int r = 0; r < 40; ++r) {
      VisibleRows row = {.sink_end = static_cast<int64_t>(random.NextBelow(200)),
                         .begin = static_cast<int64_t>(random.NextBelow(300)),
                         .end = static_cast<int64_t>(random.NextBelow(300))};
      if (r % 3 == 0) row.sink_end = 0;
      if (row.begin > row.end) std::swap(row.begin, row.end);
      visible.push_back(row);
    }
    ExpectEqualToReference(MakeProblem(type, 20, 20, 300, visible, 9));
    if (HasFatalFailure()) return;
  }
}

TEST_P(AttentionTest, EqualsTheReferenceWithCappedScores) {
  for (const KvType type : kTypes) {
    for (size_t rows = 1; rows <= 14; ++rows) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(type) << " " << rows);
      Problem problem = MakeProblem(type, 20, 20, 150, Causal(150, rows, 2, 40, 3), rows);
      const auto without = AttendAll(problem, table_, *Fill(problem, table_));
      problem.cap = 1.5f;
      ExpectEqualToReference(problem);
      if (HasFatalFailure()) return;
      EXPECT_FALSE(SameBits(without, AttendAll(problem, table_, *Fill(problem, table_))));
    }
    Problem wild = MakeProblem(type, 3, 17, 280, Causal(280, 26, 2, 150, 5), 7, true);
    wild.cap = 50.0f;
    ExpectEqualToReference(wild);
    if (HasFatalFailure()) return;
  }
}

TEST_P(AttentionTest, EqualsTheReferenceOnWildNumbers) {
  for (const KvType type : kTypes) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(type) << " " << seed);
      ExpectEqualToReference(MakeProblem(type, 3, 17, 280, Causal(280, 26, 2, 150, 5), seed, true));
      if (HasFatalFailure()) return;
    }
  }
}

// Bytes of -128, which our kernels never write, but an imported row may have; the largest weights
// everywhere, and queries of the largest numbers.
TEST_P(AttentionTest, NoIntegerOverflows) {
  for (const int fill : {-128, 127, -127}) {
    Problem problem = MakeProblem(KvType::kQ8Int, 96, 80, 256, Causal(256, 13, 1), 5);
    for (size_t i = 0; i < problem.q.size(); ++i) problem.q[i] = i / 96 % 2 == 0 ? 3.0f : -3.0f;
    PageStore store(problem.layout(), 2, 0);
    const size_t row_bytes = store.layout().key_row_bytes + store.layout().value_row_bytes;
    std::vector<uint8_t> rows(row_bytes * kPagePositions, static_cast<uint8_t>(fill));
    for (size_t p = 0; p < kPagePositions; ++p) {
      const auto scales = [&](size_t end, size_t count) {
        for (size_t i = 0; i < count; ++i) {
          const uint16_t half = quant::FloatToHalf(0.01f);
          std::memcpy(&rows[p * row_bytes + end - 2 * (i + 1)], &half, 2);
        }
      };
      scales(store.layout().key_row_bytes, 3);
      scales(row_bytes, 3);
    }
    for (uint8_t* page : store.pages())
      ImportRows(store.layout(), rows.data(), 0, kPagePositions, page);
    const std::vector<float> expected = AttendAll(problem, ref_, store);
    EXPECT_TRUE(SameBits(expected, AttendAll(problem, table_, store)));
    // All weights and values are equal: of two whole pages, they count most.
    const size_t rows_before = 2 * problem.rows();
    const float sum = expected[problem.rows()];
    EXPECT_NEAR(expected[rows_before] / sum, static_cast<float>(fill) * 0.01f, 1e-3);
  }
}

// The bits are the same with one call, one call per row, one per page, and any order of rows.
TEST_P(AttentionTest, CompanionsAndPiecesChangeNothing) {
  for (const KvType type : kTypes) {
    const Problem problem = MakeProblem(type, 24, 40, 500, Causal(500, 120, 3, 300, 7), 5);
    const auto store = Fill(problem, table_);
    const Prepared prepared = Prepare(problem, table_, *store);
    const std::vector<float> whole = AttendAll(problem, table_, *store);

    StateBuffer by_pages(store->layout(), problem.rows());
    for (size_t i = 0; i < store->pages().size(); ++i) {
      AttentionJob job = prepared.job;
      job.pages += i;
      job.page_count = 1;
      job.first_page = static_cast<int64_t>(i);
      table_.attend(job, by_pages.state());
    }
    EXPECT_TRUE(SameBits(whole, Used(store->layout(), by_pages)));

    Problem shuffled = problem;
    Random random(3);
    std::vector<size_t> order(problem.rows());
    for (size_t r = 0; r < order.size(); ++r) order[r] = r;
    for (size_t r = order.size(); r > 1; --r) std::swap(order[r - 1], order[random.NextBelow(r)]);
    for (size_t r = 0; r < order.size(); ++r) {
      shuffled.visible[r] = problem.visible[order[r]];
      std::copy_n(problem.q.begin() + static_cast<std::ptrdiff_t>(order[r]) * 24, 24,
                  shuffled.q.begin() + static_cast<std::ptrdiff_t>(r) * 24);
    }
    const std::vector<float> other = AttendAll(shuffled, table_, *store);
    const size_t rows = problem.rows();
    for (size_t r = 0; r < rows; ++r) {
      ASSERT_EQ(PlainBits(other[r]), PlainBits(whole[order[r]]));
      ASSERT_EQ(PlainBits(other[rows + r]), PlainBits(whole[rows + order[r]]));
      for (size_t d = 0; d < 40; ++d) {
        ASSERT_EQ(PlainBits(other[2 * rows + r * 40 + d]),
                  PlainBits(whole[2 * rows + order[r] * 40 + d]));
      }
    }
    for (size_t r = 0; r < rows; r += 7) {
      Problem one = problem;
      one.visible = {problem.visible[r]};
      one.q.assign(problem.q.begin() + static_cast<std::ptrdiff_t>(r) * 24,
                   problem.q.begin() + static_cast<std::ptrdiff_t>(r + 1) * 24);
      const std::vector<float> alone = AttendAll(one, table_, *store);
      ASSERT_EQ(PlainBits(alone[0]), PlainBits(whole[r]));
      for (size_t d = 0; d < 40; ++d) {
        ASSERT_EQ(PlainBits(alone[2 + d]), PlainBits(whole[2 * rows + r * 40 + d]));
      }
    }
  }
}

// Masked rows may be anything: rows not yet written, stale ones, infinities.
TEST_P(AttentionTest, HiddenRowsContributeExactlyNothing) {
  for (const KvType type : kTypes) {
    for (const uint8_t garbage : {0x00, 0x7c, 0x7f, 0xff}) {
      const int64_t length = 201;  // odd: a bf16 pair is half written
      Problem problem = MakeProblem(type, 16, 24, length, Causal(length, 36, 1, 64, 3), 5);
      const auto clean = Fill(problem, table_);
      const auto expected = AttendAll(problem, table_, *clean);
      // The first query sees the sinks and positions from 201 - 36 - 63 on.
      for (int64_t p = 3; p < 102; ++p) {
        std::fill_n(problem.keys.begin() + p * 16, 16, p % 2 == 0 ? kQuietNan : HUGE_VALF);
        std::fill_n(problem.values.begin() + p * 24, 24, p % 2 == 0 ? -HUGE_VALF : kQuietNan);
      }
      const auto dirty = Fill(problem, table_, garbage);
      EXPECT_TRUE(SameBits(expected, AttendAll(problem, table_, *dirty)))
          << static_cast<int>(type) << " " << static_cast<int>(garbage);
    }
  }
}

// Only later queries see a row with an infinite value, in the same call or in another.
TEST_P(AttentionTest, WhatOnlyLaterQueriesSeeDoesNotReachEarlierOnes) {
  for (const KvType type : kTypes) {
    Problem problem = MakeProblem(type, 16, 16, 140, Causal(140, 12, 1), 5);
    const auto clean = AttendAll(problem, table_, *Fill(problem, table_));
    std::fill_n(problem.keys.begin() + 139 * 16, 16, HUGE_VALF);
    std::fill_n(problem.values.begin() + 139 * 16, 16, kQuietNan);
    const auto dirty = AttendAll(problem, table_, *Fill(problem, table_));
    for (size_t r = 0; r < 11; ++r) {
      for (size_t d = 0; d < 16; ++d) {
        EXPECT_EQ(PlainBits(clean[24 + r * 16 + d]), PlainBits(dirty[24 + r * 16 + d]));
      }
    }
    EXPECT_TRUE(std::isnan(dirty[24 + 11 * 16]));
  }
}

TEST_P(AttentionTest, UnseenPagesMayBeAbsent) {
  const Problem problem = MakeProblem(KvType::kF16, 16, 16, 1000, Causal(1000, 13, 1, 100, 4), 5);
  const auto store = Fill(problem, table_);
  Prepared prepared = Prepare(problem, table_, *store);
  std::vector<const uint8_t*> some(store->pages().begin(), store->pages().end());
  for (size_t i = 1; i + 2 < some.size(); ++i) some[i] = nullptr;
  prepared.job.pages = some.data();
  StateBuffer buffer(store->layout(), problem.rows());
  table_.attend(prepared.job, buffer.state());
  EXPECT_TRUE(SameBits(AttendAll(problem, table_, *store), Used(store->layout(), buffer)));
}

TEST_P(AttentionTest, FinishEqualsTheReference) {
  for (int dim = 1; dim <= 40; ++dim) {
    const PageLayout layout = MakePageLayout(KvType::kF16, 8, dim);
    constexpr size_t kRows = 12;
    StateBuffer buffer(layout, kRows);
    buffer.max = WildValues(kRows, dim);
    buffer.sum = WildValues(kRows, dim + 100);
    buffer.values = WildValues(buffer.values.size(), dim + 200);
    buffer.sum[3] = 0.0f;
    buffer.max[3] = -HUGE_VALF;
    const std::vector<float> sinks = {0.5f, -3.0f, -HUGE_VALF};
    const auto width = static_cast<size_t>(dim) + 2;
    const RowGrid grid = {
        .rows = kRows, .heads = 3, .token_stride = 3 * width + 1, .head_stride = width};
    for (const float* some : {static_cast<const float*>(nullptr), sinks.data()}) {
      std::vector<float> expected(4 * grid.token_stride, 7.0f);
      std::vector<float> actual = expected;
      ref_.finish(layout, buffer.state(), some, grid, expected.data());
      table_.finish(layout, buffer.state(), some, grid, actual.data());
      ASSERT_TRUE(SameBits(expected, actual)) << dim;
    }
  }
}

TEST_P(AttentionTest, QueriesOfSeveralHeadsAreGathered) {
  const PageLayout layout = MakePageLayout(KvType::kBf16, 21, 8);
  const RowGrid grid = {.rows = 15, .heads = 3, .token_stride = 200, .head_stride = 40};
  const std::vector<float> q = WildValues(200 * 5, 1);
  std::vector<float> expected(QueryFloats(layout, 15), 1.0f);
  std::vector<float> actual(expected.size(), 2.0f);
  ref_.prepare_queries(layout, q.data(), grid, 0.3f, expected.data());
  table_.prepare_queries(layout, q.data(), grid, 0.3f, actual.data());
  EXPECT_TRUE(SameBits(expected, actual));
  // Row 13 is head 1 of token 4: the second row of the second group.
  const float x = quant::Bfloat16ToFloat(quant::FloatToBfloat16(q[4 * 200 + 40 + 5] * 0.3f));
  EXPECT_EQ(PlainBits(actual[12 * 21 + 5 * 12 + 1]), PlainBits(x));
}

// The attention of one row in double precision, from the original rows.
std::vector<double> Exact(const Problem& problem, size_t r, const double* sink) {
  std::vector<double> scores(static_cast<size_t>(problem.length));
  double max = sink != nullptr ? *sink : -HUGE_VAL;
  const VisibleRows& visible = problem.visible[r];
  const auto sees = [&](int64_t p) {
    return p < visible.sink_end || (p >= visible.begin && p < visible.end);
  };
  for (int64_t p = 0; p < problem.length; ++p) {
    if (!sees(p)) continue;
    double score = 0;
    for (int d = 0; d < problem.key_dim; ++d) {
      score += static_cast<double>(
                   problem.q[r * static_cast<size_t>(problem.key_dim) + static_cast<size_t>(d)]) *
               static_cast<double>(problem.keys[static_cast<size_t>(p * problem.key_dim + d)]);
    }
    scores[static_cast<size_t>(p)] = score / std::sqrt(problem.key_dim);
    max = std::max(max, scores[static_cast<size_t>(p)]);
  }
  double sum = sink != nullptr ? std::exp(*sink - max) : 0.0;
  std::vector<double> out(static_cast<size_t>(problem.value_dim));
  for (int64_t p = 0; p < problem.length; ++p) {
    if (!sees(p)) continue;
    const double weight = std::exp(scores[static_cast<size_t>(p)] - max);
    sum += weight;
    for (int d = 0; d < problem.value_dim; ++d) {
      out[static_cast<size_t>(d)] +=
          weight *
          static_cast<double>(problem.values[static_cast<size_t>(p * problem.value_dim + d)]);
    }
  }
  for (double& x : out) x /= sum;
  return out;
}

TEST_P(AttentionTest, IsAttention) {
  // Errors from rounding keys and values to their type, and for bf16 also queries and weights.
  constexpr double kTolerance[] = {1e-3, 1.5e-2, 2e-2, 3e-2};
  for (const KvType type : kTypes) {
    for (const bool masked : {false, true}) {
      Problem problem =
          MakeProblem(type, 64, 48, 700, Causal(700, 24, 4, masked ? 200 : 0, masked ? 5 : 0), 5);
      const auto store = Fill(problem, table_);
      const Prepared prepared = Prepare(problem, table_, *store);
      StateBuffer buffer(store->layout(), problem.rows());
      table_.attend(prepared.job, buffer.state());
      const std::vector<float> sinks = {0.5f, 4.0f, -2.0f, 1.0f};
      std::vector<float> out(24 * 48);
      const RowGrid grid = {.rows = 24, .heads = 4, .token_stride = 4 * 48, .head_stride = 48};
      table_.finish(store->layout(), buffer.state(), masked ? sinks.data() : nullptr, grid,
                    out.data());
      for (size_t r = 0; r < 24; ++r) {
        const double sink = static_cast<double>(sinks[r % 4]);
        const std::vector<double> exact = Exact(problem, r, masked ? &sink : nullptr);
        for (size_t d = 0; d < 48; ++d) {
          EXPECT_NEAR(out[r * 48 + d], exact[d], kTolerance[static_cast<int>(type)]);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, AttentionTest, testing::ValuesIn(AllTested()),
                         [](const auto& tested) { return tested.param.name; });

TEST(VisibleToTest, WindowsCountTheQueryItselfAndSinksDoNotOverlap) {
  const auto is = [](const VisibleRows& rows, int64_t sink_end, int64_t begin, int64_t end) {
    return rows.sink_end == sink_end && rows.begin == begin && rows.end == end;
  };
  EXPECT_TRUE(is(VisibleTo(0, 0, 0), 0, 0, 1));
  EXPECT_TRUE(is(VisibleTo(9, 0, 4), 0, 0, 10));
  EXPECT_TRUE(is(VisibleTo(9, 10, 4), 0, 0, 10));
  EXPECT_TRUE(is(VisibleTo(9, 8, 4), 2, 2, 10));
  EXPECT_TRUE(is(VisibleTo(9, 1, 4), 4, 9, 10));
  EXPECT_TRUE(is(VisibleTo(100, 128, 0), 0, 0, 101));
}

}  // namespace
}  // namespace aster::kernels
