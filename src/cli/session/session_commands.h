// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The sub-commands of `aster session`, and their common parts. Must not know how sessions are
// stored.
#pragma once

#include <string>

#include "cli/command.h"
#include "disk/session_folder.h"

namespace aster::cli {

Run DeclareSessionSave(CLI::App& app);
Run DeclareSessionLoad(CLI::App& app);
Run DeclareSessionList(CLI::App& app);
Run DeclareSessionShow(CLI::App& app);
Run DeclareSessionRemove(CLI::App& app);
Run DeclareSessionExport(CLI::App& app);
Run DeclareSessionImport(CLI::App& app);
Run DeclareSessionMove(CLI::App& app);

}  // namespace aster::cli
