// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The options of commands that can run a model on several machines. Must not know how they are
// reached.
#pragma once

#include "open/cluster_options.h"

namespace CLI {
class App;
}

namespace aster::cli {

// `options` must outlive the parsing of the command line.
void DeclareClusterOptions(CLI::App& app, open::ClusterOptions& options);

}  // namespace aster::cli
