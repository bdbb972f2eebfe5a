// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/run_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "base/random.h"
#include "engine/stops.h"

namespace aster::cli {
namespace {

constexpr const char* kPromptGroup = "Prompt";
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

void DeclareSampling(CLI::App& app, RunOptions& options) {
  engine::SamplingOptions& sampling = options.sampling;
  const auto add = [&](const char* flag, auto& value, const char* text) {
    return app.add_option(flag, value, text)->group(kSamplingGroup)->type_name("X");
  };
  add("--temp", sampling.temperature, "Temperature; 0 takes the likeliest");
  add("--top-k", sampling.top_k, "Among the likeliest so many; 0 for all")->type_name("N");
  add("--top-p", sampling.top_p, "Among the likeliest that make up so much; 1 for all");
  add("--min-p", sampling.min_p, "Among those at least so likely beside the likeliest; 0 for all");
  add("--typical", sampling.typical_p, "Among the most typical that make up so much; 1 for all");
  add("--repeat-penalty", sampling.repetition_penalty,
      "Divides the logits of tokens that were there; 1 for none");
  add("--presence-penalty", sampling.presence_penalty, "Subtracted once if a token was there");
  add("--frequency-penalty", sampling.frequency_penalty,
      "Subtracted for every time that a token was there");
  add("--penalty-window", sampling.penalty_window, "Tokens that penalties look back at; 0 for all")
      ->type_name("N");
  add("--logit-bias", options.biases, "Added to a token's logit; -inf forbids it. Repeatable")
      ->allow_extra_args(false)
      ->type_name("ID=X");
  add("--seed", options.seed, "The same seed, the same answer (a new one where not given)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
}

}  // namespace

void RunOptions::Declare(CLI::App& app) {
  model.Declare(app);
  const auto add = [&](const char* flag, auto& value, const char* text) {
    return app.add_option(flag, value, text)->group(kPromptGroup);
  };
  CLI::Option* text = add("-p,--prompt", prompt, "What to answer or to continue");
  text->type_name("TEXT");
  CLI::Option* file = add("--prompt-file", prompt_path, "The same, from a file");
  file->excludes(text)->type_name("FILE");
  CLI::Option* ids = add("--ids", ids_path, "What to continue, as token ids; no token is added");
  ids->excludes(text)->excludes(file)->type_name("FILE");
  CLI::Option* system_text = add("--system", system, "The system message");
  system_text->excludes(ids)->type_name("TEXT");
  app.add_flag("--raw", raw, "Continue the text as it is, without the chat template")
      ->group(kPromptGroup)
      ->excludes(system_text);
  app.add_option("-n,--tokens", max_tokens, "The most tokens to answer with")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  app.add_option("--ctx", context, "Tokens of prompt and answer (as trained where not given)")
      ->type_name("N");
  app.add_option("--stop", stops, "Text that ends the answer. Repeatable")
      ->allow_extra_args(false)
      ->type_name("TEXT");
  app.add_flag("--ignore-eos", ignore_eos, "Go on after the tokens that end an answer");
  DeclareSampling(app, *this);
  app.add_flag("--json", json, "Print one JSON document at the end");
  app.add_flag("-q,--quiet", quiet, "No rates at the end");
  app.add_flag("--no-history", no_history, "Do not remember what was typed");
}

Result<engine::Request> RunOptions::ForEngine(const text::Vocab* vocab, uint32_t vocab_size) const {
  engine::Request request;
  request.sampling = sampling;
  // A seed of our own survives programs that read JSON numbers as floats.
  request.sampling.seed = seed ? *seed : SystemSeed() >> 11;
  for (const std::string& text : biases) request.sampling.biases.push_back(TRY(ParseBias(text)));
  TRY(engine::CheckSampling(request.sampling, vocab_size));
  TRY(engine::CheckStopStrings(stops));
  request.stop_strings = stops;
  if (max_tokens) request.max_tokens = *max_tokens;
  request.context_limit = context;
  if (vocab != nullptr && !ignore_eos) request.stop_tokens = vocab->end_of_generation;
  return request;
}

}  // namespace aster::cli
