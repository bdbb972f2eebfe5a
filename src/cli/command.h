// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The form of a sub-command of `aster`. One file per command; this header must not know any of them
// (commands.cc lists them all).
#pragma once

#include <functional>

#include "base/result.h"

namespace CLI {
class App;
}

namespace aster::cli {

class Console;

// The program's exit statuses, for scripts. docs/cli.md explains them.
enum ExitStatus : int {
  kExitOk = 0,
  kExitNo = 1,             // the command ran, and its check failed
  kExitUsage = 2,          // the command line is wrong
  kExitInput = 3,          // a given file or value is missing, damaged or contradictory
  kExitUnsupported = 4,    // understood, but not supported in this version
  kExitSystem = 5,         // an error of the system: permission, disk, memory
  kExitInternal = 70,      // a bug in the program
  kExitInterrupted = 130,  // Ctrl-C: the work done so far is kept
};

ExitStatus ExitStatusOf(const Error& error);

// Runs a command whose options have been parsed; returns the program's exit status.
using Run = std::function<Result<ExitStatus>(Console&)>;

struct Command {
  const char* name;     // as typed: aster <name>
  const char* summary;  // one line for `aster --help`
  // Declares the options on `app` and returns what to run. The returned function owns the options'
  // values.
  Run (*declare)(CLI::App& app);
};

}  // namespace aster::cli
