// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The files of a command's model, whether they are on this machine or only on nodes. Must not know
// what they are used for.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/model_files.h"
#include "node/cluster_view.h"
#include "open/cluster_options.h"

namespace aster::open {

// The model's files. If the command runs on the cluster and a name is no file here, the nodes that
// have a file of that name send all of it but the weights.
Result<gguf::ModelFiles> OpenModelFiles(const std::vector<std::string>& paths,
                                        const ClusterOptions& cluster);

// For files on the cluster: an error if a part of the model is missing; it names the part, and
// other files that nodes have.
Status CheckWhole(const gguf::ModelFiles& files, const ClusterOptions& cluster);

// Finds a model, or else a part of one, by its file name on nodes, with or without the suffix. The
// error lists the existing names.
Result<cluster::HeldModel> FindHeld(std::string_view name, std::span<const node::NodeView> nodes);

}  // namespace aster::open
