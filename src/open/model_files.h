// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The model that a command is to use, whether its files are on this machine or only on nodes. Must
// not know what is done with it.
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

// Its files; or, where the command runs on the cluster and one that is named is none here, all but
// the weights of the model that they make up with those which nodes call so.
Result<gguf::ModelFiles> OpenModelFiles(const std::vector<std::string>& paths,
                                        const ClusterOptions& cluster);

// Of files for the cluster: that nothing is missing, or what is, and which other files nodes have.
Status CheckWhole(const gguf::ModelFiles& files, const ClusterOptions& cluster);

// The model that nodes call so, or else the part of one: by its file's name, with its ending or
// without. An error says which there are.
Result<cluster::HeldModel> FindHeld(std::string_view name, std::span<const node::NodeView> nodes);

}  // namespace aster::open
