// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/attention.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>

#include "kv/page_codec.h"
#include "kv/pool.h"
#include "vulkan/backend/backend_test_support.h"

namespace aster::vulkan {
namespace {

using compute::Tensor;
using kernels::KvType;

class DeviceAttentionTest : public BackendTest {};
INSTANTIATE_TEST_SUITE_P(Tables, DeviceAttentionTest, testing::Bool(), NameOfTables);

struct AttentionCase {
  KvType type = KvType::kF16;
  int dim = 64;
  uint32_t heads = 4;
  uint32_t kv_heads = 2;
  float scale = 0.125f;
  uint32_t window = 0;
  uint32_t sinks = 0;
  bool has_sink_logits = false;
  size_t pairs = 0;  // of a head are turned, the last ones
  // Positions that sequences have before the first batch; their pages are only written.
  std::vector<uint32_t> past = {};
};

// Sequences in the pages of a back end.
class Sequences {
 public:
  Sequences(compute::Backend& backend, const AttentionCase& of, size_t count)
      : head_page_(kernels::MakePageLayout(of.type, of.dim, of.dim)),
        page_bytes_(of.kv_heads * head_page_.bytes),
        layout_(kv::Layout::Create(Hash128{1, 2}, kernels::kPagePositions, 0,
                                   {2,
                                    {{.codec = std::make_shared<kv::PlainCodec>(
                                          "test", (page_bytes_ + 127) / 128, 128),
                                      .window = of.window,
                                      .sinks = of.sinks}}})
                    .value()),
        pool_(uint64_t{64} << 20, nullptr, backend.pages()) {
    for (size_t i = 0; i < count; ++i) tables_.emplace_back(layout_, pool_, layout_.all_layers());
  }

  const kernels::PageLayout& head_page() const { return head_page_; }
  kv::PageTable& table(size_t sequence) { return tables_[sequence]; }

  // The bytes of all pages that are there, as floats for the comparison.
  void AppendPages(std::vector<float>& numbers) {
    for (kv::PageTable& table : tables_) {
      for (uint32_t page = 0; page * kernels::kPagePositions < table.length(); ++page) {
        for (uint32_t layer = 0; layer < 2; ++layer) {
          std::vector<uint8_t> copy;
          const kv::PageAddress at = table.Page(layer, page);
          if (!at) continue;
          const uint8_t* const bytes = kv::ReadPage(at, page_bytes_, copy).value();
          for (size_t i = 0; i < page_bytes_; ++i) numbers.push_back(bytes[i]);
        }
      }
    }
  }

 private:
  const kernels::PageLayout head_page_;
  const size_t page_bytes_;
  const kv::Layout layout_;
  kv::Pool pool_;
  std::deque<kv::PageTable> tables_;
};

// Computes batches of new tokens of every sequence through two layers. Returns all outputs, then
// the pages.
std::vector<float> RunBatches(compute::Backend& backend, const AttentionCase& of,
                              const std::vector<std::vector<uint32_t>>& batches) {
  Sequences sequences(backend, of, batches[0].size());
  Bench bench(backend);
  std::vector<float> all;
  const auto dim = static_cast<size_t>(of.dim);
  uint64_t seed = 1;
  const auto run = [&](const std::vector<uint32_t>& counts, bool attends) {
    std::vector<compute::PageSpan> spans;
    uint32_t rows = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      kv::PageTable& table = sequences.table(i);
      CHECK(table.Reserve(counts[i]).ok());
      spans.push_back({&table, table.length(), rows, counts[i]});
      rows += counts[i];
    }
    const Tensor out = bench.Room(rows, of.heads * dim);
    compute::Angles angles;
    if (of.pairs > 0) angles = {bench.Rows(rows, of.pairs, 100), bench.Rows(rows, of.pairs, 101)};
    for (uint32_t layer = 0; layer < 2; ++layer) {
      const Tensor queries = bench.Rows(rows, of.heads * dim, seed++);
      const Tensor keys = bench.Rows(rows, of.kv_heads * dim, seed++);
      const Tensor values = bench.Rows(rows, of.kv_heads * dim, seed++);
      const Tensor sink_logits = of.has_sink_logits ? bench.Rows(1, of.heads, seed++) : Tensor();
      const auto turned = [&](const Tensor& heads, uint32_t count) -> compute::Heads {
        return {.rows = heads, .count = count, .angles = angles, .unrotated = dim - 2 * of.pairs};
      };
      const compute::Heads finished[] = {turned(queries, of.heads), turned(keys, of.kv_heads)};
      const auto record = [&](compute::Commands& commands) -> Status {
        if (of.pairs > 0) TRY(commands.FinishHeads(finished));
        return commands.Attend({.pages = {layer, 0, spans},
                                .head_page = &sequences.head_page(),
                                .head_count = of.heads,
                                .kv_head_count = of.kv_heads,
                                .scale = of.scale,
                                .window = of.window,
                                .sinks = of.sinks,
                                .sink_logits = sink_logits,
                                .queries = attends ? queries : Tensor(),
                                .keys = keys,
                                .values = values,
                                .out = out});
      };
      const std::vector<float> result = bench.Run(record, out);
      if (attends) all.insert(all.end(), result.begin(), result.end());
    }
    for (const compute::PageSpan& span : spans)
      span.table->Advance(std::vector<int32_t>(span.count, 1));
  };
  if (!of.past.empty()) run(of.past, false);
  for (const std::vector<uint32_t>& counts : batches) run(counts, true);
  sequences.AppendPages(all);
  return all;
}

TEST_P(DeviceAttentionTest, PagesOfEveryTypeAndSeveralSequences) {
  for (const KvType type : {KvType::kF16, KvType::kBf16, KvType::kQ8, KvType::kQ8Int}) {
    const AttentionCase of = {.type = type};
    ExpectEqual(fmt::format("type {}", static_cast<int>(type)), [&](compute::Backend& backend) {
      return RunBatches(backend, of, {{33, 0, 127}, {1, 3, 1}, {1, 1, 1}, {2, 40, 0}});
    });
  }
}

TEST_P(DeviceAttentionTest, OddShapes) {
  for (const AttentionCase& of :
       {AttentionCase{.dim = 80, .heads = 3, .kv_heads = 1},
        AttentionCase{.type = KvType::kQ8, .dim = 40, .heads = 7, .kv_heads = 7},
        AttentionCase{.type = KvType::kQ8Int, .dim = 42, .heads = 7, .kv_heads = 7},
        AttentionCase{.type = KvType::kBf16, .dim = 130, .heads = 6, .kv_heads = 2}}) {
    ExpectEqual(fmt::format("heads of {}", of.dim), [&](compute::Backend& backend) {
      return RunBatches(backend, of, {{129, 5}, {1, 1}});
    });
  }
}

TEST_P(DeviceAttentionTest, WindowsAndSinks) {
  for (const uint32_t sinks : {0u, 4u}) {
    const AttentionCase of = {.dim = 32, .heads = 2, .kv_heads = 1, .window = 100, .sinks = sinks};
    ExpectEqual(fmt::format("{} sinks", sinks), [&](compute::Backend& backend) {
      return RunBatches(backend, of, {{150, 20}, {150, 1}, {100, 1}, {1, 1}, {9, 128}});
    });
  }
}

// RoPE is applied to keys while they are written.
TEST_P(DeviceAttentionTest, TurnedHeads) {
  for (const KvType type : {KvType::kF16, KvType::kBf16, KvType::kQ8}) {
    const AttentionCase of = {.type = type, .dim = 40, .pairs = 16};
    ExpectEqual(fmt::format("type {}", static_cast<int>(type)), [&](compute::Backend& backend) {
      return RunBatches(backend, of, {{33, 0, 127}, {1, 3, 1}, {1, 1, 1}});
    });
  }
}

// Logits that count only in the sum, for rows whose pages one workgroup has, and for rows whose
// pages are divided.
TEST_P(DeviceAttentionTest, SinksOfHeads) {
  for (const uint32_t window : {0u, 100u}) {
    const AttentionCase of = {.dim = 32,
                              .heads = 8,
                              .kv_heads = 2,
                              .window = window,
                              .has_sink_logits = true,
                              .past = {680, 0}};
    ExpectEqual(fmt::format("a window of {}", window), [&](compute::Backend& backend) {
      return RunBatches(backend, of, {{20, 20}, {1, 1}, {3, 129}});
    });
  }
}

// Pages are divided among workgroups, and merged by a second kernel.
TEST_P(DeviceAttentionTest, FewRowsAndManyPages) {
  for (const KvType type : {KvType::kF16, KvType::kQ8}) {
    const AttentionCase of = {
        .type = type, .dim = 32, .heads = 2, .kv_heads = 1, .past = {690, 500}};
    ExpectEqual("a long past", [&](compute::Backend& backend) {
      return RunBatches(backend, of, {{10, 3}, {1, 1}, {3, 100}, {1, 2}});
    });
  }
}

}  // namespace
}  // namespace aster::vulkan
