// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster run --ensemble: several models answer one prompt together. Must not know how they decide.
#pragma once

#include "base/result.h"
#include "cli/commands.h"
#include "cli/run/run_options.h"
#include "cli/terminal/console.h"

namespace aster::cli {

Result<ExitStatus> RunEnsemble(const RunOptions& options, Console& console);

}  // namespace aster::cli
