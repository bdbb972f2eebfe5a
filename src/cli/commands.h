// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The list of sub-commands, and the program around them: finds the command, parses its options,
// runs it and converts the result into an exit status.
#pragma once

#include <span>

#include "cli/command.h"

namespace aster::cli {

// One per command, each in a file of its own: */<name>_command.cc.
Run DeclareBench(CLI::App& app);
Run DeclareCluster(CLI::App& app);
Run DeclareCompletion(CLI::App& app);
Run DeclareDevices(CLI::App& app);
Run DeclareDoctor(CLI::App& app);
Run DeclareEval(CLI::App& app);
Run DeclareGateway(CLI::App& app);
Run DeclareInspect(CLI::App& app);
Run DeclareList(CLI::App& app);
Run DeclareLogits(CLI::App& app);
Run DeclareMan(CLI::App& app);
Run DeclareNode(CLI::App& app);
Run DeclarePerplexity(CLI::App& app);
Run DeclarePlan(CLI::App& app);
Run DeclarePull(CLI::App& app);
Run DeclareQuantize(CLI::App& app);
Run DeclareRemove(CLI::App& app);
Run DeclareRun(CLI::App& app);
Run DeclareServe(CLI::App& app);
Run DeclareSession(CLI::App& app);
Run DeclareSynth(CLI::App& app);
Run DeclareTemplate(CLI::App& app);
Run DeclareEmbed(CLI::App& app);
Run DeclareTokenize(CLI::App& app);
Run DeclareVerify(CLI::App& app);

// Every sub-command, in the order of `aster --help`.
std::span<const Command> AllCommands();

int Main(int argc, char** argv);

}  // namespace aster::cli
