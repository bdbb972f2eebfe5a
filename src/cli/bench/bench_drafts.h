// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The speed-up of speculative decoding: the same answers with drafts and without, alternating. Must
// not know which generator answers, nor which drafter proposes.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "base/result.h"
#include "chat/prompt.h"
#include "cli/terminal/console.h"
#include "engine/generator.h"
#include "engine/measure.h"
#include "engine/oracle_proposers.h"

namespace aster::cli {

struct DraftRates {
  std::vector<double> plain_rates;  // tokens/s of each repetition, without first tokens
  std::vector<double> draft_rates;  // likewise
  std::vector<double> ratios;       // of each repetition, the second divided by the first
  uint64_t tokens = 0;              // in the answers of one repetition
  engine::DraftCounts counts;       // of all repetitions

  double plain() const { return engine::Median(plain_rates); }
  double draft() const { return engine::Median(draft_rates); }
  double ratio() const { return engine::Median(ratios); }
};

// Short questions as users ask them, through the model's chat template if it has one.
Result<std::vector<std::vector<int32_t>>> DraftPrompts(const chat::ChatPrompt& prompt);

// Greedy answers of up to `max_tokens` to each prompt, which end where the model ends them: without
// draft tokens and with each of the ways, alternating. Returns the rates of each way. `known`, or
// null: a drafter that is told the answers. An error if an answer differs with drafts.
Result<std::vector<DraftRates>> MeasureDrafts(engine::Generator& generator,
                                              const std::vector<std::vector<int32_t>>& prompts,
                                              const std::vector<int32_t>& stop_tokens,
                                              std::span<const engine::DraftOptions> ways,
                                              uint64_t max_tokens, uint32_t repetitions,
                                              const engine::MeasureProgress& progress,
                                              engine::OracleProposers* known);

nlohmann::ordered_json DraftRatesToJson(const DraftRates& rates);
void PrintDraftRates(const DraftRates& rates, Console& console);

}  // namespace aster::cli
