// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The work of `aster run`, for other commands that end in it. Must not know their options.
#pragma once

#include "base/result.h"
#include "cli/command.h"
#include "cli/run/run_options.h"

namespace aster::cli {

// One answer if there is a prompt, otherwise a conversation. Without a model's name, the session's
// model is used, or the built-in default.
Result<ExitStatus> RunModel(RunOptions options, Console& console);

}  // namespace aster::cli
