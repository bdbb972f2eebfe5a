// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What a sub-command of `aster` is. One file a command; this header must not know any of them
// (commands.cc lists them all).
#pragma once

#include <functional>

#include "base/result.h"

namespace CLI {
class App;
}

namespace aster::cli {

class Console;

// The program's exit statuses, so that scripts can tell what happened. docs/cli.md explains them.
enum ExitStatus : int {
  kExitOk = 0,
  kExitNo = 1,             // the command ran, and the answer to what it checks is no
  kExitUsage = 2,          // the command line makes no sense
  kExitInput = 3,          // a file or value given is missing, damaged or contradictory
  kExitUnsupported = 4,    // understood, but this version cannot do it
  kExitSystem = 5,         // the machine refused: permission, disk, memory
  kExitInternal = 70,      // a mistake in the program
  kExitInterrupted = 130,  // Ctrl-C: what was done until then is there
};

ExitStatus ExitStatusOf(const Error& error);

// Runs a command whose options have been parsed; the value is the program's exit status.
using Run = std::function<Result<ExitStatus>(Console&)>;

struct Command {
  const char* name;     // as typed: aster <name>
  const char* summary;  // one line for `aster --help`
  // Declares the options on `app` and returns what to run. The options' values live in the returned
  // function.
  Run (*declare)(CLI::App& app);
};

}  // namespace aster::cli
