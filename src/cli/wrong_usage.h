// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What is told of a command line or a configuration file that cannot be understood: what was meant,
// and where it stands. Must not know what commands do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace aster::cli {

// "there is no command srve; did you mean serve? …", where the first word is none of the commands;
// the same of an option of a command. Nothing where something else is wrong.
std::optional<std::string> DescribeMistyped(CLI::App& app, const std::vector<std::string>& words);

// The same of commands alone, as far as the first option.
std::optional<std::string> DescribeUnknownCommand(CLI::App& app, std::vector<std::string> words);

// The file of --config; nothing where there is none.
struct ConfigText {
  std::string path;
  std::string text;
};

// "--ctx: give a number from 0 on, not -5; aster run --help says more", of what CLI11 says is
// wrong; with its line where the file says it.
std::string DescribeWrongUse(CLI::App& app, const std::vector<std::string>& words,
                             std::string_view what, const ConfigText& config);

// "file.toml: line 3: …" of a key such as "serve.prot" that is no option, or of a table.
std::string DescribeUnknownKey(CLI::App& app, const std::string& key, const ConfigText& config);

}  // namespace aster::cli
