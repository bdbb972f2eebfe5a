// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Shell completion, generated from the options that the program parses, so that it is always up to
// date.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
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

// A command, or a sub-command: "run", "cluster", "cluster join".
struct CommandWords {
  std::string path;
  std::string description;
  std::vector<OptionWords> options;
  std::vector<CommandWords> commands;  // its sub-commands
  bool takes_models;                   // after its name
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

bool TakesModels(const CLI::App& app) {
  return std::ranges::any_of(app.get_options(), [](const CLI::Option* option) {
    return option->get_positional() && option->get_type_name() == "MODEL";
  });
}

std::vector<CommandWords> CommandsOf(const CLI::App& app, const std::string& before = "") {
  std::vector<CommandWords> commands;
  for (const CLI::App* sub : app.get_subcommands({})) {
    const std::string path = before + sub->get_name();
    commands.push_back({path, FirstLine(sub->get_description()), OptionsOf(*sub),
                        CommandsOf(*sub, path + " "), TakesModels(*sub)});
  }
  return commands;
}

// Commands, with their sub-commands.
std::vector<CommandWords> Flattened(const std::vector<CommandWords>& commands) {
  std::vector<CommandWords> all;
  for (const CommandWords& command : commands) {
    all.push_back(command);
    for (CommandWords& inner : Flattened(command.commands)) all.push_back(std::move(inner));
  }
  return all;
}

// The word after the last space.
std::string LastWord(const std::string& path) { return path.substr(path.rfind(' ') + 1); }

std::string NamesOf(const std::vector<OptionWords>& options) {
  std::string names;
  for (const OptionWords& option : options) {
    for (const std::string& name : option.names) names += (names.empty() ? "" : " ") + name;
  }
  return names;
}

std::string NamesOf(const std::vector<CommandWords>& commands) {
  std::string names;
  for (const CommandWords& command : commands) {
    names += (names.empty() ? "" : " ") + LastWord(command.path);
  }
  return names;
}

// 'text' as one word for the shell, whatever characters it has.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Every path, as alternatives of a shell's case.
std::string PathsOf(const std::vector<CommandWords>& commands) {
  std::string paths;
  for (const CommandWords& command : Flattened(commands)) {
    paths += (paths.empty() ? "" : "|") + Quoted(command.path);
  }
  return paths;
}

// Fills the commands into a script at the places @NAME@.
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
  local current="${COMP_WORDS[COMP_CWORD]}" at='' options='' commands='' models='' next i
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="${at:+$at }${COMP_WORDS[i]}"
    case "$next" in @PATHS@) at="$next" ;; esac
  done
  case "$at" in
    '') commands=@COMMANDS@ options=@OPTIONS@ ;;
@CASES@  esac
  if [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [[ -n "$commands" ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$current"))
  else
    [[ -z "$models" ]] || models="$(aster list --names 2>/dev/null)"
    COMPREPLY=($(compgen -W "$models" -- "$current") $(compgen -f -- "$current"))
  fi
}
complete -o filenames -o bashdefault -F _aster aster
)sh";

std::string BashScript(const CLI::App& root) {
  const std::vector<CommandWords> commands = CommandsOf(root);
  std::string cases;
  for (const CommandWords& command : Flattened(commands)) {
    cases += fmt::format("    {}) commands={} options={} models={} ;;\n", Quoted(command.path),
                         Quoted(NamesOf(command.commands)), Quoted(NamesOf(command.options)),
                         command.takes_models ? "1" : "''");
  }
  return Fill(kBashScript, {{"@PATHS@", PathsOf(commands)},
                            {"@COMMANDS@", Quoted(NamesOf(commands))},
                            {"@OPTIONS@", Quoted(NamesOf(OptionsOf(root)))},
                            {"@CASES@", cases}});
}

// As a file of $fpath it runs as a whole at the first completion, and must complete then, too.
constexpr std::string_view kZshScript = R"sh(#compdef aster
# zsh completion for aster: source <(aster completion zsh)
_aster() {
  local -a commands options
  local at='' models='' next i
  for ((i = 2; i < CURRENT; i++)); do
    next="${at:+$at }${words[i]}"
    case "$next" in @PATHS@) at="$next" ;; esac
  done
  case "$at" in
@CASES@  esac
  if [[ "$PREFIX" == -* ]]; then
    _describe option options
  elif (( $#commands )); then
    _describe command commands
  else
    [[ -n "$models" ]] && compadd -- ${(f)"$(aster list --names 2>/dev/null)"}
    _files
  fi
}
if [[ "${funcstack[1]}" == _aster ]]; then _aster "$@"; else compdef _aster aster; fi
)sh";

// In the form of _describe, which splits a word from its explanation at the first colon.
std::string ZshList(const std::vector<CommandWords>& commands) {
  std::string list;
  for (const CommandWords& command : commands) {
    list += " " + Quoted(LastWord(command.path) + ":" + command.description);
  }
  return list;
}

std::string ZshList(const std::vector<OptionWords>& options) {
  std::string list;
  for (const OptionWords& option : options) {
    for (const std::string& name : option.names) {
      list += " " + Quoted(name + ":" + option.description);
    }
  }
  return list;
}

std::string ZshScript(const CLI::App& root) {
  const std::vector<CommandWords> commands = CommandsOf(root);
  std::string cases = fmt::format("    '') commands=({} ) options=({} ) ;;\n", ZshList(commands),
                                  ZshList(OptionsOf(root)));
  for (const CommandWords& command : Flattened(commands)) {
    cases += fmt::format("    {}) commands=({} ) options=({} ) models={} ;;\n",
                         Quoted(command.path), ZshList(command.commands), ZshList(command.options),
                         command.takes_models ? "1" : "''");
  }
  return Fill(kZshScript, {{"@PATHS@", PathsOf(commands)}, {"@CASES@", cases}});
}

// A fish condition: all words of the path were typed.
std::string FishSeen(const std::string& path) {
  std::string seen;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find(' ', begin), path.size());
    seen += (seen.empty() ? "" : "; and ") +
            ("__fish_seen_subcommand_from " + path.substr(begin, end - begin));
    begin = end + 1;
  }
  return seen;
}

std::string FishOption(const std::string& condition, const OptionWords& option) {
  std::string line = fmt::format("complete -c aster -n {}", Quoted(condition));
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return fmt::format("{}{} -d {}\n", line, option.takes_value ? " -r" : "",
                     Quoted(option.description));
}

// The names of commands under a condition, with all that may follow each.
std::string FishCommands(const std::string& condition, const std::vector<CommandWords>& commands) {
  std::string script;
  for (const CommandWords& command : commands) {
    script += fmt::format("complete -c aster -f -n {} -a {} -d {}\n", Quoted(condition),
                          LastWord(command.path), Quoted(command.description));
    const std::string seen = FishSeen(command.path);
    for (const OptionWords& option : command.options) script += FishOption(seen, option);
    if (command.takes_models) {
      script += fmt::format("complete -c aster -n {} -a '(aster list --names 2>/dev/null)'\n",
                            Quoted(seen));
    }
    script +=
        FishCommands(seen + "; and not __fish_seen_subcommand_from " + NamesOf(command.commands),
                     command.commands);
  }
  return script;
}

std::string FishScript(const CLI::App& root) {
  std::string script = "# fish completion for aster: aster completion fish | source\n";
  for (const OptionWords& option : OptionsOf(root)) {
    script += FishOption("__fish_use_subcommand", option);
  }
  return script + FishCommands("__fish_use_subcommand", CommandsOf(root));
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
