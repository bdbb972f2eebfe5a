// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Pulling a model in front of a person: a line of progress, notes, Ctrl-C, and what came of it.
// Shared by `aster pull` and by commands that offer it.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/terminal/console.h"
#include "pull/pull.h"

namespace aster::cli {

// Into `folder`, or where it is empty into the library.
Result<pull::Pulled> PullModel(const pull::Source& source, const std::string& folder,
                               const std::string& token_path, Console& console);

}  // namespace aster::cli
