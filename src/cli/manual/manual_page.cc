// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/manual/manual_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <string_view>

#include "cli/manual/roff.h"

namespace aster::cli {
namespace {

const CLI::App& RootOf(const CLI::App& command) {
  const CLI::App* root = &command;
  while (root->get_parent() != nullptr) root = root->get_parent();
  return *root;
}

// The words to type, with `between` between them: "aster cluster join".
std::string WordsOf(const CLI::App& command, char between) {
  const CLI::App* const parent = command.get_parent();
  return parent == nullptr ? command.get_name()
                           : WordsOf(*parent, between) + between + command.get_name();
}

// The name of an option's value, and its allowed values, which CLI11 writes as one text: "N:UINT in
// [0 - 512]", "TYPE:{f16,bf16}".
struct Value {
  std::string name;
  std::string rule;  // a sentence, or empty
};

Value ValueOf(const CLI::Option& option) {
  const std::string text = option.get_type_name();
  for (const std::string_view mark : {":{", ":INT in [", ":UINT in [", ":FLOAT in ["}) {
    const size_t at = text.find(mark);
    if (at == std::string::npos) continue;
    const size_t begin = at + mark.size();
    std::string values = text.substr(begin, text.find_first_of("]}", begin) - begin);
    const size_t dash = values.find(" - ");
    if (mark.ends_with('[') && dash != std::string::npos) values.replace(dash, 3, " to ");
    for (size_t comma = values.find(','); comma != std::string::npos;
         comma = values.find(',', comma + 2)) {
      values.insert(comma + 1, " ");
    }
    return {text.substr(0, at), (mark == ":{" ? " One of " : " From ") + values + "."};
  }
  return {text, ""};
}

std::string HeadingOf(const CLI::Option& option) {
  std::string heading;
  const auto add = [&](const std::string& name) {
    heading += (heading.empty() ? "" : ", ") + RoffBold(name);
  };
  for (const std::string& name : option.get_snames()) add("-" + name);
  for (const std::string& name : option.get_lnames()) add("--" + name);
  const bool takes_value = option.get_items_expected_max() > 0;
  const std::string value = takes_value ? ValueOf(option).name : "";
  if (heading.empty()) return RoffItalic(value.empty() ? option.get_name() : value);
  return value.empty() ? heading : heading + " " + RoffItalic(value);
}

std::string NamesOf(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) {
    names.push_back(option->nonpositional() ? "--" + option->get_lnames().front()
                                            : ValueOf(*option).name);
  }
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string DescriptionOf(const CLI::Option& option) {
  std::string text = option.get_description();
  if (!text.ends_with('.')) text += '.';
  text += ValueOf(option).rule;
  if (!option.get_needs().empty()) text += " Only with " + NamesOf(option.get_needs()) + ".";
  if (!option.get_excludes().empty()) text += " Not with " + NamesOf(option.get_excludes()) + ".";
  if (!option.get_envname().empty()) text += " Environment: " + option.get_envname() + ".";
  return RoffText(text);
}

std::string EntryOf(const CLI::Option& option) {
  return fmt::format(".TP\n{}\n{}\n", HeadingOf(option), DescriptionOf(option));
}

std::vector<const CLI::Option*> Positionals(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::string SynopsisOf(const CLI::App& command) {
  std::string line = RoffBold(WordsOf(command, ' ')) + " [" + RoffItalic("OPTIONS") + "]";
  for (const CLI::Option* option : Positionals(command)) {
    const std::string name = RoffItalic(ValueOf(*option).name);
    const std::string many = option->get_items_expected_max() > 1 ? " ..." : "";
    line += option->get_required() ? " " + name + many : " [" + name + many + "]";
  }
  if (!command.get_subcommands(nullptr).empty()) line += " " + RoffItalic("COMMAND");
  return line + "\n";
}

// Options without a group come first, as in --help.
std::string OptionsOf(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : Positionals(command)) text += EntryOf(*option);
  for (const std::string& group : command.get_groups()) {
    std::string entries;
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_group() == group && option->nonpositional()) entries += EntryOf(*option);
    }
    if (entries.empty() || group.empty()) continue;
    text += (group == "Options" ? "" : ".SS " + RoffText(group) + "\n") + entries;
  }
  return text.empty() ? "" : ".SH OPTIONS\n" + text;
}

std::string CommandsOf(const CLI::App& command) {
  std::string text;
  for (const CLI::App* sub : command.get_subcommands(nullptr)) {
    text += fmt::format(".TP\n{}(1)\n{}.\n", RoffBold(WordsOf(*sub, '-')),
                        RoffText(sub->get_description()));
  }
  return text.empty() ? "" : ".SH COMMANDS\n" + text;
}

// A command without a footer inherits the program's, which is on the program's page.
std::string NotesOf(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  const std::string footer = command.get_footer();
  if (footer.empty() || (parent != nullptr && footer == RootOf(command).get_footer())) return "";
  return ".SH NOTES\n" + RoffNotes(footer);
}

std::string SeeAlsoOf(const CLI::App& command) {
  if (command.get_parent() == nullptr) return "";
  return fmt::format(
      ".SH SEE ALSO\n{}(1) has the options of every command (\\-\\-config and \\-\\-log\\-level "
      "among them) and the exit status.\n",
      RoffBold(WordsOf(*command.get_parent(), '-')));
}

void AddPages(const CLI::App& command, std::vector<ManualPage>& pages) {
  pages.push_back(ManualPageOf(command));
  for (const CLI::App* sub : command.get_subcommands(nullptr)) AddPages(*sub, pages);
}

}  // namespace

ManualPage ManualPageOf(const CLI::App& command) {
  ManualPage page{.name = WordsOf(command, '-'), .text = {}};
  std::string title = page.name;
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const std::string summary = RoffText(command.get_description());
  page.text = ".\\\" Written by \"aster man\" from the options of the program.\n";
  page.text += fmt::format(".TH {} 1 \"\" \"Asterism\" \"User Commands\"\n", RoffText(title));
  page.text += fmt::format(".SH NAME\n{} \\- {}\n", RoffText(page.name), summary);
  page.text += ".SH SYNOPSIS\n" + SynopsisOf(command);
  page.text += CommandsOf(command) + OptionsOf(command) + NotesOf(command) + SeeAlsoOf(command);
  return page;
}

std::vector<ManualPage> AllManualPages(const CLI::App& root) {
  std::vector<ManualPage> pages;
  AddPages(root, pages);
  return pages;
}

}  // namespace aster::cli
