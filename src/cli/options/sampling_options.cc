// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/options/sampling_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "base/float_text.h"
#include "cli/options/ranges.h"

namespace aster::cli {
namespace {

constexpr const char* kSamplingGroup = "Sampling";

Result<engine::TokenBias> ParseBias(const std::string& text) {
  engine::TokenBias bias{};
  const char* const end = text.data() + text.size();
  const auto id = std::from_chars(text.data(), end, bias.id);
  if (id.ec == std::errc() && id.ptr != end && *id.ptr == '=') {
    const auto value = FloatFromChars(id.ptr + 1, end, bias.bias);
    if (value.ec == std::errc() && value.ptr == end) return bias;
  }
  return InvalidArgument(fmt::format(
      "--logit-bias {}: give a token id and a bias of its logit, such as 13=-2.5 or 13=-inf",
      text));
}

}  // namespace

void SamplingFlags::Declare(CLI::App& app) {
  const auto add = [&](const char* flag, auto& value, const char* text) {
    return app.add_option(flag, value, text)->group(kSamplingGroup)->type_name("X");
  };
  add("--temp", options.temperature, "Temperature; 0: always the most likely token");
  add("--top-k", options.top_k, "Sample from the N most likely tokens; 0: all")->type_name("N");
  add("--top-p", options.top_p,
      "Sample from the most likely tokens with probability X together; 1: all");
  add("--min-p", options.min_p,
      "Sample from tokens with at least X times the probability of the most likely one; 0: all");
  add("--typical", options.typical_p,
      "Sample from the most typical tokens with probability X together; 1: all");
  add("--repeat-penalty", options.repetition_penalty,
      "Divisor of the logits of tokens in the text; 1: none");
  add("--presence-penalty", options.presence_penalty,
      "Subtracted once from the logits of tokens in the text");
  add("--frequency-penalty", options.frequency_penalty,
      "Subtracted from the logits of tokens in the text for each occurrence");
  add("--penalty-window", options.penalty_window,
      "Tokens at the end of the text that penalties count; 0: all")
      ->type_name("N");
  add("--logit-bias", biases, "Bias of a token's logit; -inf forbids the token. Repeatable")
      ->allow_extra_args(false)
      ->type_name("ID=X");
  add("--seed", seed, "Seed; the same seed gives the same answer")
      ->check(NotNegative())
      ->type_name("N");
}

Result<engine::SamplingOptions> SamplingFlags::ForEngine(uint32_t vocab_size,
                                                         uint64_t default_seed) const {
  engine::SamplingOptions sampling = options;
  sampling.seed = seed.value_or(default_seed);
  for (const std::string& text : biases) sampling.biases.push_back(TRY(ParseBias(text)));
  TRY(engine::CheckSampling(sampling, vocab_size));
  return sampling;
}

}  // namespace aster::cli
