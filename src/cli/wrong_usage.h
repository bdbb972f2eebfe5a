// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Errors of a command line or a configuration file: what was meant, and where it is. Must not know
// what commands do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace aster::cli {

// "there is no command srve; did you mean serve? …", if the first word is no command; the same for
// an option of a command. Nullopt for other errors.
std::optional<std::string> DescribeMistyped(CLI::App& app, const std::vector<std::string>& words);

// The same for commands only, up to the first option.
std::optional<std::string> DescribeUnknownCommand(CLI::App& app, std::vector<std::string> words);

// The file of --config; nullopt if there is none.
struct ConfigText {
  std::string path;
  std::string text;
};

// "--ctx: give a number from 0 on, not -5; aster run --help says more", for an error of CLI11; with
// its line if it is in the file.
std::string DescribeWrongUse(CLI::App& app, const std::vector<std::string>& words,
                             std::string_view what, const ConfigText& config);

// "file.toml: line 3: …" for a key such as "serve.prot" that is no option, or for a table.
std::string DescribeUnknownKey(CLI::App& app, const std::string& key, const ConfigText& config);

}  // namespace aster::cli
