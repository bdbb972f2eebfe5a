// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Shell completion, written from the very options the program parses, so that it cannot fall behind
// them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/terminal/console.h"

namespace aster::cli {
namespace {

struct OptionWords {
  std::vector<std::string> names;  // "--json", "-h"
  std::string description;         // one line
  bool takes_value;
};

struct CommandWords {
  std::string name;
  std::string description;
  std::vector<OptionWords> options;
};

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::vector<OptionWords> OptionsOf(const CLI::App& app) {
  std::vector<OptionWords> options;
  for (const CLI::Option* option : app.get_options()) {
    OptionWords words{
        {}, FirstLine(option->get_description()), option->get_items_expected_max() > 0};
    for (const std::string& name : option->get_snames()) words.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) words.names.push_back("--" + name);
    if (!words.names.empty()) options.push_back(std::move(words));
  }
  return options;
}

std::vector<CommandWords> CommandsOf(const CLI::App& root) {
  std::vector<CommandWords> commands;
  for (const CLI::App* sub : root.get_subcommands({})) {
    commands.push_back({sub->get_name(), FirstLine(sub->get_description()), OptionsOf(*sub)});
  }
  return commands;
}

std::string NamesOf(const std::vector<OptionWords>& options) {
  std::string names;
  for (const OptionWords& option : options) {
    for (const std::string& name : option.names) names += (names.empty() ? "" : " ") + name;
  }
  return names;
}

// 'text' as one word of a shell, whatever it holds.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// A script with @NAME@ where what depends on the commands goes.
std::string Fill(std::string_view script,
                 const std::vector<std::pair<std::string_view, std::string>>& parts) {
  std::string filled(script);
  for (const auto& [name, text] : parts) {
    filled.replace(filled.find(name), name.size(), text);
  }
  return filled;
}

constexpr std::string_view kBashScript =
    R"sh(# bash completion for aster: eval "$(aster completion bash)"
_aster() {
  local current="${COMP_WORDS[COMP_CWORD]}" command='' words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${COMP_WORDS[i]}" in -*) ;; *) command="${COMP_WORDS[i]}"; break ;; esac
  done
  case "$command" in
    '') words=@NAMES@ ;;
@CASES@  esac
  if [[ -z "$command" || "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -o bashdefault -F _aster aster
)sh";

std::string BashScript(const CLI::App& root) {
  std::string names, cases;
  for (const CommandWords& command : CommandsOf(root)) {
    names += command.name + " ";
    cases += fmt::format("    {}) words={} ;;\n", command.name, Quoted(NamesOf(command.options)));
  }
  return Fill(kBashScript,
              {{"@NAMES@", Quoted(names + NamesOf(OptionsOf(root)))}, {"@CASES@", cases}});
}

constexpr std::string_view kZshScript = R"sh(#compdef aster
# zsh completion for aster: source <(aster completion zsh)
_aster() {
  local -a commands options
  commands=(
@COMMANDS@  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case "$words[2]" in
@CASES@  esac
  if [[ "$PREFIX" == -* ]]; then
    _describe option options
  else
    _files
  fi
}
compdef _aster aster
)sh";

std::string ZshScript(const CLI::App& root) {
  std::string commands, cases;
  // _describe splits a word from its explanation at the first colon.
  for (const CommandWords& command : CommandsOf(root)) {
    commands += fmt::format("    {}\n", Quoted(command.name + ":" + command.description));
    std::string options;
    for (const OptionWords& option : command.options) {
      for (const std::string& name : option.names) {
        options += " " + Quoted(name + ":" + option.description);
      }
    }
    cases += fmt::format("    {}) options=({} ) ;;\n", command.name, options);
  }
  return Fill(kZshScript, {{"@COMMANDS@", commands}, {"@CASES@", cases}});
}

std::string FishScript(const CLI::App& root) {
  std::string script = "# fish completion for aster: aster completion fish | source\n";
  auto add = [&](const std::string& condition, const OptionWords& option) {
    std::string line = fmt::format("complete -c aster -n {}", Quoted(condition));
    for (const std::string& name : option.names) {
      line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    script += fmt::format("{}{} -d {}\n", line, option.takes_value ? " -r" : "",
                          Quoted(option.description));
  };
  for (const OptionWords& option : OptionsOf(root)) add("__fish_use_subcommand", option);
  for (const CommandWords& command : CommandsOf(root)) {
    script += fmt::format("complete -c aster -f -n __fish_use_subcommand -a {} -d {}\n",
                          command.name, Quoted(command.description));
    for (const OptionWords& option : command.options) {
      add("__fish_seen_subcommand_from " + command.name, option);
    }
  }
  return script;
}

}  // namespace

Run DeclareCompletion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("shell", *shell, "Shell: bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL");
  app.footer(
      "Add one line to your shell's start-up file:\n"
      "  bash   eval \"$(aster completion bash)\"\n"
      "  zsh    source <(aster completion zsh)\n"
      "  fish   aster completion fish | source");
  return [shell, &app](Console& console) -> Result<ExitStatus> {
    const CLI::App& root = *app.get_parent();
    console.Write(*shell == "bash"  ? BashScript(root)
                  : *shell == "zsh" ? ZshScript(root)
                                    : FishScript(root));
    return kExitOk;
  };
}

}  // namespace aster::cli
