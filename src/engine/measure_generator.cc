// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/measure_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace aster::engine {
namespace {

// Sends the requests of one case, repeatedly.
class RequestRunner {
 public:
  explicit RequestRunner(Generator& generator)
      : generator_(generator), vocab_size_(generator.shape().vocab_size) {}

  // Fills the generator's KV cache with the text before the first token.
  Status Fill(uint32_t depth) {
    if (depth == 0) return Ok();
    // With one more token, as a text's last token is always computed again.
    static_cast<void>(TRY(AskAll({Base(depth + 1)}, /*max_tokens=*/0)));
    return Ok();
  }

  // Nanoseconds for what.tokens tokens of each sequence.
  Result<int64_t> Time(const MeasuredCase& what, uint64_t stream) {
    std::vector<std::vector<int32_t>> prompts;
    const bool is_prefill = what.kind == MeasuredKind::kPrefill;
    for (uint32_t i = 0; i < what.batch; ++i) {
      prompts.push_back(Base(what.depth));
      const std::vector<int32_t> own =
          RandomTokens(is_prefill ? what.tokens : 1, vocab_size_, stream + i);
      prompts.back().insert(prompts.back().end(), own.begin(), own.end());
    }
    const std::vector<Finish> ends = TRY(AskAll(prompts, is_prefill ? 1 : what.tokens + 1));
    int64_t longest_ns = 0;
    for (const Finish& end : ends) {
      if (!is_prefill) {
        longest_ns = std::max(longest_ns, end.times.decode_ns);
        continue;
      }
      // Earlier tokens that were not in the KV cache do not belong to the case.
      const double computed = static_cast<double>(end.counts.prompt - end.counts.cached);
      longest_ns = static_cast<int64_t>(static_cast<double>(end.times.prefill_ns) * what.tokens /
                                        std::max(computed, 1.0));
    }
    return longest_ns;
  }

 private:
  std::vector<int32_t> Base(uint32_t depth) const {
    return RandomTokens(depth, vocab_size_, /*stream=*/0);
  }

  Result<std::vector<Finish>> AskAll(const std::vector<std::vector<int32_t>>& prompts,
                                     uint64_t max_tokens) {
    std::vector<Sequence> sequences;
    for (const std::vector<int32_t>& prompt : prompts) {
      sequences.push_back(generator_.NewSequence());
      sequences.back().SetHistory(prompt);
    }
    std::vector<Finish> ends;
    SamplingOptions greedy;
    greedy.temperature = 0;
    for (Sequence& sequence : sequences) {
      const auto limit = static_cast<uint32_t>(sequence.length() + max_tokens + 1);
      TRY(generator_.Submit({.sequence = &sequence,
                             .sampling = greedy,
                             .max_tokens = max_tokens,
                             .context_limit = limit,
                             .on_finish = [&](const Finish& end) { ends.push_back(end); }}));
    }
    while (!generator_.idle()) TRY(generator_.Step());
    for (Finish& end : ends) TRY(std::move(end.status));
    return ends;
  }

  Generator& generator_;
  const uint32_t vocab_size_;
};

std::vector<Measurement> CasesOf(const MeasurePlan& plan, size_t threads) {
  std::vector<Measurement> cases;
  for (const uint32_t depth : plan.depths) {
    for (const uint32_t prompt : plan.prompts) {
      cases.push_back({.what = {MeasuredKind::kPrefill, threads, depth, prompt, 1}});
    }
    for (const uint32_t batch : plan.batches) {
      if (plan.answer == 0) continue;
      cases.push_back({.what = {MeasuredKind::kDecode, threads, depth, plan.answer, batch}});
    }
  }
  return cases;
}

}  // namespace

Result<std::vector<Measurement>> MeasureGenerator(Generator& generator, const MeasurePlan& plan,
                                                  size_t threads, const MeasureProgress& progress) {
  std::vector<Measurement> results = CasesOf(plan, threads);
  if (results.empty() || plan.repetitions == 0) {
    return InvalidArgument("nothing to measure: give prompts or answers, and depths");
  }
  RequestRunner runner(generator);
  for (const uint32_t depth : plan.depths) TRY(runner.Fill(depth));
  const uint64_t steps = plan.repetitions * results.size();
  uint64_t step = 0;
  uint64_t stream = 1;
  for (uint32_t repetition = 0; repetition < plan.repetitions; ++repetition) {
    for (Measurement& result : results) {
      const MeasuredCase& what = result.what;
      if (progress.on_step) {
        progress.on_step(fmt::format("{} tokens at depth {}", what.tokens, what.depth), step++,
                         steps);
      }
      result.durations_ns.push_back(TRY(runner.Time(what, stream)));
      stream += what.batch;
    }
  }
  for (Measurement& result : results) {
    std::vector<double> seconds;
    for (const int64_t ns : result.durations_ns) {
      seconds.push_back(std::max(static_cast<double>(ns) * 1e-9, 1e-9));
    }
    result.tokens_per_s =
        static_cast<double>(result.what.tokens) * result.what.batch / Median(seconds);
  }
  return results;
}

}  // namespace aster::engine
