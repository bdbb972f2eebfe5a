// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/bench/bench_drafts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/run/run_report.h"
#include "cli/terminal/seconds.h"
#include "cli/terminal/table.h"
#include "engine/generate.h"
#include "open/drafts.h"

namespace aster::cli {
namespace {

// Some answers repeat the question, some do not; some are long, some short.
constexpr const char* kPrompts[] = {
    "Tell me a story about a rabbit.",
    "Tell me a story.",
    "Copy this text: river, lamp, stone, apple, tower, silver, mill",
    "What is 318 + 466?",
    "Write as JSON: name Iris, coins 42, home harbour",
    "The key is in the barn. Then Jack takes the key to the mill. Where is the key now?",
};

engine::Request RequestFor(engine::Sequence& sequence, const std::vector<int32_t>& stop_tokens,
                           uint64_t max_tokens) {
  engine::Request request;
  request.sequence = &sequence;
  request.sampling.temperature = 0;
  request.max_tokens = max_tokens;
  request.stop_tokens = stop_tokens;
  return request;
}

// The result of one pass through all prompts.
struct Pass {
  uint64_t tokens = 0;
  uint64_t behind_first = 0;
  int64_t decode_ns = 0;
  engine::DraftCounts counts;

  void Add(const engine::Finish& finish) {
    tokens += finish.counts.generated;
    behind_first += finish.counts.generated - std::min<uint64_t>(finish.counts.generated, 1);
    decode_ns += finish.times.decode_ns;
    counts += finish.counts.drafts;
  }
};

}  // namespace

Result<std::vector<std::vector<int32_t>>> DraftPrompts(const chat::ChatPrompt& prompt) {
  std::vector<std::vector<int32_t>> prompts;
  for (const char* const text : kPrompts) {
    if (!prompt.has_template()) {
      prompts.push_back(TRY(prompt.EncodeRaw(text, /*begins=*/true)));
      continue;
    }
    const chat::Message message{"user", text};
    prompts.push_back(TRY(prompt.Encode(TRY(prompt.Render(std::span(&message, 1))))));
  }
  return prompts;
}

Result<std::vector<DraftRates>> MeasureDrafts(engine::Generator& generator,
                                              const std::vector<std::vector<int32_t>>& prompts,
                                              const std::vector<int32_t>& stop_tokens,
                                              std::span<const engine::DraftOptions> ways,
                                              uint64_t max_tokens, uint32_t repetitions,
                                              const engine::MeasureProgress& progress,
                                              engine::OracleProposers* known) {
  const auto answer = [&](const std::vector<int32_t>& prompt, const engine::DraftOptions& draft,
                          Pass& pass) -> Result<std::vector<int32_t>> {
    engine::Sequence sequence = generator.NewSequence();
    sequence.SetHistory(prompt);
    engine::Request request = RequestFor(sequence, stop_tokens, max_tokens);
    request.draft = draft;
    engine::Generated generated = TRY(engine::Generate(generator, std::move(request)));
    pass.Add(generated.finish);
    return std::move(generated.tokens);
  };
  std::vector<engine::DraftOptions> all = {{.kind = engine::DraftKind::kNone}};
  all.insert(all.end(), ways.begin(), ways.end());
  std::vector<DraftRates> rates(ways.size());
  // The first answer of a process waits for more, so it is not counted.
  Pass none;
  if (!prompts.empty()) TRY(answer(prompts.front(), all.front(), none));
  const uint64_t steps = uint64_t{repetitions} * prompts.size();
  for (uint32_t repetition = 0; repetition < repetitions; ++repetition) {
    std::vector<Pass> passes(all.size());
    for (size_t i = 0; i < prompts.size(); ++i) {
      if (progress.on_step) {
        progress.on_step("answers with and without draft tokens", repetition * prompts.size() + i,
                         steps);
      }
      // Each way is first equally often; but answers that are not known yet cannot be drafted.
      const bool is_unknown = known != nullptr && repetition == 0;
      const size_t first = is_unknown ? 0 : repetition + i;
      std::vector<int32_t> tokens;
      for (size_t turn = 0; turn < all.size(); ++turn) {
        const size_t way = (first + turn) % all.size();
        auto answered = TRY(answer(prompts[i], all[way], passes[way]));
        if (turn > 0 && answered != tokens) {
          return Error(Code::kInternal,
                       "an answer differs with draft tokens: this is a bug, please report it");
        }
        tokens = std::move(answered);
        if (turn > 0 || !is_unknown) continue;
        std::vector<int32_t> text = prompts[i];
        text.insert(text.end(), tokens.begin(), tokens.end());
        known->AddText(std::move(text), prompts[i].size());
      }
    }
    const Pass& plain = passes.front();
    if (plain.behind_first == 0) {
      return InvalidArgument("answers of one token leave nothing to draft: give more (--gen)");
    }
    for (size_t i = 0; i < rates.size(); ++i) {
      const Pass& drafted = passes[i + 1];
      rates[i].tokens = plain.tokens;
      rates[i].counts += drafted.counts;
      rates[i].plain_rates.push_back(PerSecond(plain.behind_first, plain.decode_ns));
      rates[i].draft_rates.push_back(PerSecond(drafted.behind_first, drafted.decode_ns));
      rates[i].ratios.push_back(rates[i].draft_rates.back() / rates[i].plain_rates.back());
    }
  }
  return rates;
}

nlohmann::ordered_json DraftRatesToJson(const DraftRates& rates) {
  nlohmann::ordered_json json = DraftsToJson(rates.counts);
  json["answer_tokens"] = rates.tokens;
  json["repetitions"] = rates.ratios.size();
  json["plain_tokens_per_s"] = rates.plain();
  json["draft_tokens_per_s"] = rates.draft();
  json["ratio"] = rates.ratio();
  json["ratios"] = rates.ratios;
  return json;
}

void PrintDraftRates(const DraftRates& rates, Console& console) {
  using enum Table::Align;
  Table table({kLeft, kRight});
  table.AddRow({"without drafts", FormatRate(rates.plain(), "tokens")});
  table.AddRow({"with draft tokens", FormatRate(rates.draft(), "tokens")});
  table.AddRow({"ratio", fmt::format("{:.2f}", rates.ratio())});
  console.Write(table.Render(/*indent=*/0));
  console.Print("{} tokens of answers, {} times; {}\n", rates.tokens, rates.ratios.size(),
                open::DescribeDrafts(rates.counts));
}

}  // namespace aster::cli
