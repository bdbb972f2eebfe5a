// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/wrong_usage.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/similar.h"

namespace aster::cli {
namespace {

std::vector<std::string> CommandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) names.push_back(sub->get_name());
  return names;
}

// Null if neither the command nor the program has it.
const CLI::Option* FindOption(const CLI::App& command, const CLI::App& app,
                              const std::string& name) {
  for (const CLI::App* one : {&command, &app}) {
    for (const CLI::Option* option : one->get_options()) {
      if (option->check_lname(name)) return option;
    }
  }
  return nullptr;
}

// Without hyphens.
std::vector<std::string> OptionsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  return names;
}

CLI::App* SubCommand(CLI::App& app, const std::string& name) {
  for (CLI::App* sub : app.get_subcommands(nullptr)) {
    if (sub->get_name() == name) return sub;
  }
  return nullptr;
}

std::string DidYouMean(const std::string& word, std::vector<std::string> candidates,
                       std::string_view before = "") {
  const auto meant = MostSimilar(word, candidates);
  return meant ? fmt::format("; did you mean {}{}?", before, *meant) : "";
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\"'");
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\"'") + 1 - begin);
}

// CLI11's suffix for a table itself.
constexpr std::string_view kTableMark = ".++";

// From 1; 0 if the key, or the table, is not found.
size_t LineOfKey(std::string_view text, std::string_view wanted) {
  std::string table;
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = Trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    ++number;
    const size_t closed = line.find(']');
    if (line.starts_with('[') && closed != std::string_view::npos) {
      table = Trimmed(line.substr(1, closed - 1));
      if (table + std::string(kTableMark) == wanted) return number;
      continue;
    }
    const std::string key(Trimmed(line.substr(0, line.find('='))));
    if ((table.empty() ? key : table + "." + key) == wanted) return number;
  }
  return 0;
}

std::string PlaceIn(const std::string& path, size_t line) {
  return line == 0 ? path + ": " : fmt::format("{}: line {}: ", path, line);
}

// The text before and after the words, if they occur.
std::optional<std::pair<std::string_view, std::string_view>> Around(std::string_view text,
                                                                    std::string_view words) {
  const size_t at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  return std::pair(text.substr(0, at), text.substr(at + words.size()));
}

// CLI11's message about a value.
std::optional<std::string> OfValue(std::string_view what) {
  if (const auto name = Around(what, ": Value ")) {
    const auto value = Around(name->second, " not in range ");
    if (value) return fmt::format("{}: give {}, not {}", name->first, value->second, value->first);
  }
  if (const auto converted = Around(what, "Could not convert: ")) {
    const auto option = Around(converted->second, " = ");
    if (!option) return std::nullopt;
    const auto [name, value] = *option;
    return fmt::format("{}: give a number{}, not {}", name,
                       value.starts_with('-') ? " from 0 on" : "", value);
  }
  if (const auto name = Around(what, ": 1 required ")) {
    if (const auto type = Around(name->second, " missing"))
      return fmt::format("{}: {} is missing", name->first, type->first);
  }
  return std::nullopt;
}

// A missing word of a command: its place in the usage, and its meaning.
std::string DescribeMissing(const CLI::App& command, std::string_view name) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_name() != name || !option->get_positional()) continue;
    std::string what = option->get_description();
    const bool is_word = what.size() > 1 && what[1] >= 'a' && what[1] <= 'z';
    if (is_word) what[0] = AsciiLower(what.substr(0, 1))[0];
    const std::string place =
        option->get_type_name().empty() ? std::string(name) : option->get_type_name();
    return what.empty() ? place + " is missing" : fmt::format("{} is missing: {}", place, what);
  }
  return std::string(name) + " is missing";
}

std::string InPlainWords(const CLI::App& command, std::string_view what) {
  if (auto value = OfValue(what)) return *std::move(value);
  if (what == "A subcommand is required") return "a command is missing";
  if (const auto name = Around(what, " is required")) return DescribeMissing(command, name->first);
  if (const auto both = Around(what, " excludes "))
    return fmt::format("{} and {} cannot be used together", both->first, both->second);
  if (const auto both = Around(what, " requires "))
    return fmt::format("{} needs {}", both->first, both->second);
  if (const auto words = Around(what, " not expected: "))
    return "there is no place for " + std::string(words->second);
  return std::string(what);
}

}  // namespace

std::optional<std::string> DescribeMistyped(CLI::App& app, const std::vector<std::string>& words) {
  CLI::App* at = &app;
  std::string command;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.starts_with("--") && word.size() > 2) {
      const size_t equals = word.find('=');
      const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
      const CLI::Option* const option = FindOption(*at, app, name);
      if (option == nullptr) {
        return fmt::format("there is no option --{}{}; aster {}--help lists them", name,
                           DidYouMean(name, OptionsOf(*at), "--"), command);
      }
      // Its value is not a command.
      if (equals == std::string::npos && option->get_items_expected_max() > 0) ++i;
      continue;
    }
    if (word.starts_with('-') || at->get_subcommands(nullptr).empty()) continue;
    CLI::App* const next = SubCommand(*at, word);
    if (next == nullptr) {
      return fmt::format("there is no command {}{}{}; aster {}--help lists them", command, word,
                         DidYouMean(word, CommandsOf(*at)), command);
    }
    at = next;
    command += word + " ";
  }
  return std::nullopt;
}

std::optional<std::string> DescribeUnknownCommand(CLI::App& app, std::vector<std::string> words) {
  const auto first_option =
      std::ranges::find_if(words, [](const std::string& word) { return word.starts_with('-'); });
  words.erase(first_option, words.end());
  return DescribeMistyped(app, words);
}

std::string DescribeWrongUse(CLI::App& app, const std::vector<std::string>& words,
                             std::string_view what, const ConfigText& config) {
  CLI::App* at = &app;
  std::string command, table;
  for (const std::string& word : words) {
    CLI::App* const next = SubCommand(*at, word);
    if (next == nullptr) continue;
    at = next;
    command += word + " ";
    table += word + ".";
  }
  const std::string plain = InPlainWords(*at, what);
  // "--port: …" about a value from the file.
  const std::string option = plain.substr(0, plain.find(':'));
  const bool is_typed = std::ranges::any_of(words, [&](const std::string& word) {
    return word == option || word.starts_with(option + "=");
  });
  size_t line = 0;
  if (option.starts_with("--") && !is_typed)
    line = LineOfKey(config.text, table + option.substr(2));
  return fmt::format("{}{}; aster {}--help says more", line == 0 ? "" : PlaceIn(config.path, line),
                     plain, command);
}

std::string DescribeUnknownKey(CLI::App& app, const std::string& key, const ConfigText& config) {
  const std::string place = PlaceIn(config.path, LineOfKey(config.text, key));
  const size_t dot = key.rfind('.');
  const std::string before = dot == std::string::npos ? "" : key.substr(0, dot);
  const std::string name = dot == std::string::npos ? key : key.substr(dot + 1);
  if (name.starts_with('[')) return place + name + " is no table: one is written [NAME]";
  if (key.ends_with(kTableMark)) {
    return fmt::format("{}there is no table [{}]{}", place, before,
                       DidYouMean(before, CommandsOf(app)));
  }
  CLI::App* const sub = dot == std::string::npos ? &app : SubCommand(app, before);
  return fmt::format("{}there is no option {}{}", place, key,
                     sub == nullptr ? "" : DidYouMean(name, OptionsOf(*sub)));
}

}  // namespace aster::cli
