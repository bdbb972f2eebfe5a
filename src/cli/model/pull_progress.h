// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Pulls a model for a user: a line of progress, notes, Ctrl-C, and the result. Shared by `aster
// pull` and by commands that offer it.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/terminal/console.h"
#include "pull/pull.h"

namespace aster::cli {

// Into `folder`; if that is empty, into the library.
Result<pull::Pulled> PullModel(const pull::Source& source, const std::string& folder,
                               const std::string& token_path, Console& console);

}  // namespace aster::cli
