// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/run/chat_settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <utility>

#include "base/similar.h"
#include "cli/options/ranges.h"
#include "cli/options/sampling_options.h"

namespace aster::cli {
namespace {

using Biases = std::vector<engine::TokenBias>;

// A new bias replaces the token's earlier ones, and 0 is none.
Biases WithBiases(Biases biases, const Biases& added) {
  for (const engine::TokenBias& bias : added) {
    std::erase_if(biases, [&](const auto& other) { return other.id == bias.id; });
    if (bias.bias != 0) biases.push_back(bias);
  }
  return biases;
}

// A command line with these options only.
class Options {
 public:
  explicit Options(const respond::Settings& settings) : settings_(settings) {
    flags_.options = settings.sampling;
    for (const engine::TokenBias& bias : std::exchange(flags_.options.biases, {}))
      flags_.biases.push_back(fmt::format("{}={}", bias.id, bias.bias));
    flags_.seed = settings.sampling.seed;
    if (settings.max_tokens != engine::kNoTokenLimit) tokens_ = settings.max_tokens;
    app_.set_help_flag();
    flags_.Declare(app_);
    app_.add_option("--tokens", tokens_)->check(OneOrMore());
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const CLI::Option* option : app_.get_options()) names.push_back(NameOf(*option));
    return names;
  }

  std::string Describe() {
    std::string lines;
    for (CLI::Option* option : app_.get_options()) {
      option->capture_default_str();
      const std::string value = option->get_default_str();
      lines += fmt::format("  {:<20}{}\n", NameOf(*option),
                           value.empty() || value == "[]" ? "none" : value);
    }
    return lines;
  }

  Result<respond::Settings> With(const std::string& name, const std::string& value,
                                 uint32_t vocab_size) {
    try {
      app_.parse(std::vector<std::string>{fmt::format("--{}={}", name, value)});
    } catch (const CLI::ParseError& error) {
      return InvalidArgument(error.what());
    }
    respond::Settings settings = settings_;
    settings.sampling = TRY(flags_.ForEngine(vocab_size, settings.sampling.seed));
    Biases& biases = settings.sampling.biases;
    if (name == kLogitBias) biases = WithBiases(settings_.sampling.biases, biases);
    settings.max_tokens = tokens_.value_or(engine::kNoTokenLimit);
    return settings;
  }

 private:
  static std::string NameOf(const CLI::Option& option) { return option.get_lnames().front(); }

  const respond::Settings& settings_;
  CLI::App app_;
  SamplingFlags flags_;
  std::optional<uint64_t> tokens_;
};

}  // namespace

std::vector<std::string> SettingNames() { return Options({}).Names(); }

std::string DescribeSettings(const respond::Settings& settings) {
  return Options(settings).Describe();
}

Result<respond::Settings> WithSetting(const respond::Settings& settings, const std::string& name,
                                      const std::string& value, uint32_t vocab_size) {
  const std::vector<std::string> names = SettingNames();
  if (std::ranges::find(names, name) == names.end()) {
    const auto meant = MostSimilar(name, names);
    return NotFound(fmt::format("there is no setting {}{}; /set lists them", name,
                                meant ? "; did you mean " + *meant + "?" : ""));
  }
  return Options(settings).With(name, value, vocab_size);
}

}  // namespace aster::cli
