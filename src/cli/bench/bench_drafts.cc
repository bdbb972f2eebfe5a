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

// Some answers say again what was asked, some do not; some are long, some short.
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

// What one pass through all prompts has taken.
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

Result<DraftRates> MeasureDrafts(engine::Generator& generator,
                                 const std::vector<std::vector<int32_t>>& prompts,
                                 const std::vector<int32_t>& stop_tokens,
                                 const engine::DraftOptions& draft, uint64_t max_tokens,
                                 uint32_t repetitions, const engine::MeasureProgress& progress,
                                 engine::KnowingProposers* known) {
  const auto answer = [&](const std::vector<int32_t>& prompt, bool drafts,
                          Pass& pass) -> Result<std::vector<int32_t>> {
    engine::Sequence sequence = generator.NewSequence();
    sequence.SetHistory(prompt);
    engine::Request request = RequestFor(sequence, stop_tokens, max_tokens);
    if (drafts) request.draft = draft;
    engine::Generated generated = TRY(engine::Generate(generator, std::move(request)));
    pass.Add(generated.finish);
    return std::move(generated.tokens);
  };
  if (known != nullptr) {
    Pass pass;
    for (const std::vector<int32_t>& prompt : prompts) {
      std::vector<int32_t> text = prompt;
      const auto tokens = TRY(answer(prompt, /*drafts=*/false, pass));
      text.insert(text.end(), tokens.begin(), tokens.end());
      known->Foresee(std::move(text));
    }
  }
  DraftRates rates;
  const uint64_t steps = uint64_t{repetitions} * prompts.size();
  for (uint32_t repetition = 0; repetition < repetitions; ++repetition) {
    Pass plain, drafted;
    for (size_t i = 0; i < prompts.size(); ++i) {
      if (progress.on_step) {
        progress.on_step("answers with and without draft tokens", repetition * prompts.size() + i,
                         steps);
      }
      const bool plain_first = (repetition + i) % 2 == 0;
      const auto first = TRY(answer(prompts[i], !plain_first, plain_first ? plain : drafted));
      const auto second = TRY(answer(prompts[i], plain_first, plain_first ? drafted : plain));
      if (first != second) {
        return Error(Code::kInternal,
                     "an answer differs with draft tokens: this is a bug, please report it");
      }
    }
    if (plain.behind_first == 0) {
      return InvalidArgument("answers of one token leave nothing to draft: give more (--gen)");
    }
    rates.tokens = plain.tokens;
    rates.counts += drafted.counts;
    rates.plain_rates.push_back(PerSecond(plain.behind_first, plain.decode_ns));
    rates.draft_rates.push_back(PerSecond(drafted.behind_first, drafted.decode_ns));
    rates.ratios.push_back(rates.draft_rates.back() / rates.plain_rates.back());
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
