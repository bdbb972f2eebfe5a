// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/bytes.h"
#include "base/check.h"
#include "base/random.h"
#include "engine/cost.h"
#include "kernels/ops.h"
#include "kv/transfer.h"

namespace aster::engine {
namespace {

constexpr uint32_t kWarmUpTokens = 16;

std::string Threads(size_t count) {
  return fmt::format("{} thread{}", count, count == 1 ? "" : "s");
}

double Seconds(int64_t duration_ns) { return static_cast<double>(duration_ns) * 1e-9; }

// The model on one number of threads, with the text of each depth in its KV cache.
struct Variant {
  size_t threads;
  std::unique_ptr<LocalModel> model;
  std::unique_ptr<ThreadPool> limit_pool;
  std::vector<kv::PageTable> bases;   // [depths]
  std::vector<MachineLimits> limits;  // [repetitions]
};

Status Prefill(LocalModel& model, kv::PageTable& table, std::span<const int32_t> tokens,
               uint32_t chunk, const std::function<void(uint64_t)>& on_done = nullptr) {
  for (size_t done = 0; done < tokens.size(); done += chunk) {
    const size_t count = std::min<size_t>(chunk, tokens.size() - done);
    const model::Segment segment{
        .table = &table,
        .tokens = tokens.subspan(done, count),
        .hidden = nullptr,
        .wanted = done + count == tokens.size() ? model::Wanted::kLast : model::Wanted::kNone};
    TRY(model.Run({&segment, 1}));
    if (on_done) on_done(done + count);
  }
  return Ok();
}

// Each sequence's next token is its most likely one, as in an answer.
Status Decode(LocalModel& model, std::vector<kv::PageTable>& tables, std::vector<int32_t>& last,
              uint32_t steps) {
  const size_t vocab_size = model.shape().vocab_size;
  std::vector<model::Segment> segments(tables.size());
  for (uint32_t step = 0; step < steps; ++step) {
    for (size_t i = 0; i < tables.size(); ++i) {
      segments[i] = {.table = &tables[i], .tokens = {&last[i], 1}};
    }
    const model::Output output = TRY(model.Run(segments));
    for (size_t i = 0; i < tables.size(); ++i) {
      const float* logits = output.logits.data() + i * vocab_size;
      last[i] = static_cast<int32_t>(kernels::Ops(model.isa()).argmax(logits, vocab_size));
    }
  }
  return Ok();
}

class Measurer {
 public:
  Measurer(const MeasurePlan& plan, const Clock& clock, const MeasureProgress& progress)
      : plan_(plan), clock_(clock), progress_(progress) {}

  Result<MeasureReport> Run(const LocalModel& model, const LocalModelOptions& options) {
    TRY(ListCases(model));
    for (const size_t threads : plan_.threads) {
      LocalModelOptions varied = options;
      varied.threads = threads;
      variants_.push_back({.threads = threads,
                           .model = TRY(LocalModel::ShareWeights(model, varied)),
                           .limit_pool = std::make_unique<ThreadPool>(threads),
                           .bases = {},
                           .limits = {}});
    }
    step_count_ = 1 + plan_.repetitions * (variants_.size() + results_.size());
    const LimitMeter meter = TRY(LimitMeter::Create(plan_.limit_buffer_bytes));
    TRY(FillDepths());
    for (uint32_t repetition = 0; repetition < plan_.repetitions; ++repetition) {
      for (Variant& variant : variants_) {
        Announce(fmt::format("the machine's limits, {}", Threads(variant.threads)));
        variant.limits.push_back(meter.Measure(*variant.limit_pool, clock_));
      }
      for (Measurement& result : results_) {
        Announce(Describe(result.what));
        result.durations_ns.push_back(TRY(Repeat(result.what, repetition)));
      }
    }
    return Summarize();
  }

 private:
  // Short ones first, so that a run that is stopped early has shown results.
  Status ListCases(const LocalModel& model) {
    const bool has_cases = (plan_.answer > 0 && !plan_.batches.empty()) || !plan_.prompts.empty();
    if (!has_cases || plan_.threads.empty() || plan_.depths.empty() || plan_.repetitions == 0) {
      return InvalidArgument("nothing to measure: give prompts or answers, threads and depths");
    }
    for (const uint32_t depth : plan_.depths) {
      for (const size_t threads : plan_.threads) {
        for (const uint32_t prompt : plan_.prompts) {
          results_.push_back({.what = {MeasuredKind::kPrefill, threads, depth, prompt, 1}});
        }
        for (const uint32_t batch : plan_.batches) {
          if (plan_.answer == 0) continue;
          results_.push_back(
              {.what = {MeasuredKind::kDecode, threads, depth, plan_.answer, batch}});
        }
      }
    }
    vocab_size_ = model.shape().vocab_size;
    return Ok();
  }

  static std::string Describe(const MeasuredCase& what) {
    const std::string where = fmt::format("{}, depth {}", Threads(what.threads), what.depth);
    if (what.kind == MeasuredKind::kPrefill) {
      return fmt::format("prompt of {}, {}", what.tokens, where);
    }
    return fmt::format("{} answer{} of {}, {}", what.batch, what.batch == 1 ? "" : "s", what.tokens,
                       where);
  }

  void Announce(const std::string& what) {
    if (progress_.on_step) progress_.on_step(what, step_, step_count_);
    ++step_;
  }

  // Computes the text of every depth once, on the highest number of threads, and copies it to the
  // other variants.
  Status FillDepths() {
    const auto fastest =
        std::max_element(variants_.begin(), variants_.end(),
                         [](const Variant& a, const Variant& b) { return a.threads < b.threads; });
    std::vector<uint32_t> ascending = plan_.depths;
    std::sort(ascending.begin(), ascending.end());
    const uint32_t deepest = ascending.back();
    const std::vector<int32_t> text = RandomTokens(deepest, vocab_size_, /*stream=*/0);
    Announce("KV cache before the measured tokens");
    for (Variant& variant : variants_) {
      for (size_t i = 0; i < plan_.depths.size(); ++i) {
        variant.bases.push_back(variant.model->NewTable());
      }
    }
    kv::PageTable table = fastest->model->NewTable();
    for (const uint32_t depth : ascending) {
      const uint32_t before = table.length();
      const auto more = std::span(text).subspan(before, depth - before);
      TRY(Prefill(*fastest->model, table, more, plan_.chunk, [&](uint64_t done) {
        if (progress_.on_fill) progress_.on_fill(before + done, deepest);
      }));
      TRY(ShareDepth(*fastest, table, depth));
    }
    return Ok();
  }

  Status ShareDepth(const Variant& from, const kv::PageTable& table, uint32_t depth) {
    std::vector<uint8_t> chunk;
    if (depth > 0 && variants_.size() > 1) {
      TRY(kv::Export(table, table.layers(), 0, depth, [&](Bytes bytes) {
        chunk.insert(chunk.end(), bytes.begin(), bytes.end());
        return Ok();
      }));
    }
    for (Variant& variant : variants_) {
      for (size_t i = 0; i < plan_.depths.size(); ++i) {
        if (plan_.depths[i] != depth) continue;
        if (&variant == &from) {
          variant.bases[i] = table.Fork();
        } else if (depth > 0) {
          TRY(kv::Import(variant.bases[i], chunk));
        }
      }
    }
    return Ok();
  }

  Variant& VariantOf(size_t threads) {
    return *std::find_if(variants_.begin(), variants_.end(),
                         [&](const Variant& variant) { return variant.threads == threads; });
  }

  Result<int64_t> Repeat(const MeasuredCase& what, uint32_t repetition) {
    Variant& variant = VariantOf(what.threads);
    const size_t index = static_cast<size_t>(
        std::find(plan_.depths.begin(), plan_.depths.end(), what.depth) - plan_.depths.begin());
    const kv::PageTable& base = variant.bases[index];
    // Another text every time, so that nothing comes from the KV cache.
    const uint64_t stream = 1 + repetition;
    return what.kind == MeasuredKind::kPrefill ? TimePrefill(*variant.model, base, what, stream)
                                               : TimeDecode(*variant.model, base, what, stream);
  }

  Result<int64_t> TimePrefill(LocalModel& model, const kv::PageTable& base,
                              const MeasuredCase& what, uint64_t stream) {
    const std::vector<int32_t> tokens = RandomTokens(what.tokens, vocab_size_, stream);
    kv::PageTable warm = base.Fork();
    TRY(Prefill(model, warm, std::span(tokens).first(std::min(kWarmUpTokens, what.tokens)),
                plan_.chunk));
    kv::PageTable table = base.Fork();
    const int64_t start_ns = clock_.NowNs();
    TRY(Prefill(model, table, tokens, plan_.chunk));
    return clock_.NowNs() - start_ns;
  }

  Result<int64_t> TimeDecode(LocalModel& model, const kv::PageTable& base, const MeasuredCase& what,
                             uint64_t stream) {
    std::vector<kv::PageTable> tables;
    for (uint32_t i = 0; i < what.batch; ++i) tables.push_back(base.Fork());
    std::vector<int32_t> last = RandomTokens(what.batch, vocab_size_, stream);
    TRY(Decode(model, tables, last, /*steps=*/1));
    const int64_t start_ns = clock_.NowNs();
    TRY(Decode(model, tables, last, what.tokens));
    return clock_.NowNs() - start_ns;
  }

  MeasureReport Summarize() {
    MeasureReport report;
    for (const Variant& variant : variants_) {
      std::vector<double> reads, products;
      for (const MachineLimits& limits : variant.limits) {
        reads.push_back(limits.read_bytes_per_s);
        products.push_back(limits.multiply_adds_per_s);
      }
      report.threads.push_back(
          {variant.threads,
           {Median(reads), Median(products), variant.limits.front().dot_instruction}});
    }
    for (Measurement& result : results_) {
      std::vector<double> seconds;
      for (const int64_t duration_ns : result.durations_ns) {
        seconds.push_back(std::max(Seconds(duration_ns), 1e-9));
      }
      const double tokens = static_cast<double>(result.what.tokens) * result.what.batch;
      result.tokens_per_s = tokens / Median(seconds);
      result.limit_tokens_per_s = LimitOf(result.what, report);
    }
    report.results = std::move(results_);
    return report;
  }

  double LimitOf(const MeasuredCase& what, const MeasureReport& report) {
    const LocalModel& model = *VariantOf(what.threads).model;
    if (model.gpu_layers() > 0) return 0;  // the limits are the processor's
    const auto threads = std::find_if(
        report.threads.begin(), report.threads.end(),
        [&](const MeasuredThreads& measured) { return measured.threads == what.threads; });
    const WeightCost cost = CostOf(model.weights(), what.batch);
    if (what.kind == MeasuredKind::kPrefill) {
      const double products =
          cost.layer_multiply_adds + cost.head_multiply_adds / static_cast<double>(what.tokens);
      return products == 0 ? 0 : threads->limits.multiply_adds_per_s / products;
    }
    // Rows before the first token are shared by all sequences, and read once.
    const kv::LayerRange layers = {model.slice().layer_begin, model.slice().layer_end};
    const double shared =
        what.depth == 0 ? 0 : KvReadBytes(model.shape(), model.layout(), layers, what.depth - 1);
    const double seen =
        KvReadBytes(model.shape(), model.layout(), layers, what.depth + what.tokens / 2);
    const double own = std::max(seen - shared, 0.0);
    const double bytes = cost.step_bytes + shared + own * what.batch;
    return threads->limits.read_bytes_per_s / bytes * what.batch;
  }

  const MeasurePlan& plan_;
  const Clock& clock_;
  const MeasureProgress& progress_;
  uint32_t vocab_size_ = 0;
  uint64_t step_ = 0;
  uint64_t step_count_ = 0;
  std::vector<Variant> variants_;
  std::vector<Measurement> results_;
};

}  // namespace

std::vector<int32_t> RandomTokens(size_t count, uint32_t vocab_size, uint64_t stream) {
  Random random(/*seed=*/1, stream);
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random.NextBelow(vocab_size));
  return tokens;
}

double Median(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

uint64_t MemoryFor(const MeasurePlan& plan, const kv::Layout& layout, kv::LayerRange layers) {
  uint64_t bytes = 0;
  // The texts of the depths, separate if they were copied, and the page that each sequence copies
  // when it continues in the middle of one.
  for (const uint32_t depth : plan.depths) bytes += layout.BytesFor(layers, depth, plan.chunk);
  const uint32_t page = layout.page_positions();
  uint32_t longest = kWarmUpTokens;
  for (const uint32_t prompt : plan.prompts) longest = std::max(longest, prompt);
  uint32_t widest = 1;
  for (const uint32_t batch : plan.batches) widest = std::max(widest, batch);
  bytes += 2 * layout.BytesFor(layers, longest + page, plan.chunk);
  bytes += widest * layout.BytesFor(layers, plan.answer + 1 + page, plan.chunk);
  return bytes + bytes / 8;
}

Result<MeasureReport> Measure(const LocalModel& model, const LocalModelOptions& options,
                              const MeasurePlan& plan, const Clock& clock,
                              const MeasureProgress& progress) {
  return Measurer(plan, clock, progress).Run(model, options);
}

}  // namespace aster::engine
