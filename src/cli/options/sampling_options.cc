// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/options/sampling_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

namespace aster::cli {
namespace {

constexpr const char* kSamplingGroup = "Sampling";

Result<engine::TokenBias> ParseBias(const std::string& text) {
  engine::TokenBias bias{};
  const char* const end = text.data() + text.size();
  const auto id = std::from_chars(text.data(), end, bias.id);
  if (id.ec == std::errc() && id.ptr != end && *id.ptr == '=') {
    const auto value = std::from_chars(id.ptr + 1, end, bias.bias);
    if (value.ec == std::errc() && value.ptr == end) return bias;
  }
  return InvalidArgument(fmt::format(
      "--logit-bias {}: give a token id and what is added to its logit, such as 13=-2.5 or 13=-inf",
      text));
}

}  // namespace

void SamplingFlags::Declare(CLI::App& app) {
  const auto add = [&](const char* flag, auto& value, const char* text) {
    return app.add_option(flag, value, text)->group(kSamplingGroup)->type_name("X");
  };
  add("--temp", options.temperature, "Temperature; 0 takes the likeliest");
  add("--top-k", options.top_k, "Among the likeliest so many; 0 for all")->type_name("N");
  add("--top-p", options.top_p, "Among the likeliest that make up so much; 1 for all");
  add("--min-p", options.min_p, "Among those at least so likely beside the likeliest; 0 for all");
  add("--typical", options.typical_p, "Among the most typical that make up so much; 1 for all");
  add("--repeat-penalty", options.repetition_penalty,
      "Divides the logits of tokens that were there; 1 for none");
  add("--presence-penalty", options.presence_penalty, "Subtracted once if a token was there");
  add("--frequency-penalty", options.frequency_penalty,
      "Subtracted for every time that a token was there");
  add("--penalty-window", options.penalty_window, "Tokens that penalties look back at; 0 for all")
      ->type_name("N");
  add("--logit-bias", biases, "Added to a token's logit; -inf forbids it. Repeatable")
      ->allow_extra_args(false)
      ->type_name("ID=X");
  add("--seed", seed, "The same seed, the same answer")
      ->check(CLI::NonNegativeNumber)
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
