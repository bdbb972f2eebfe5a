// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A model and where it is computed, as users write it if several models are named: "nova@laptop".
// Must not know what the models are for.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "open/cluster_options.h"

namespace aster::open {

struct PlacedModel {
  std::string model;  // a file, or a model's name
  // A node, a group of nodes, or this machine; empty: not given.
  std::string place = {};

  // The text after the last @ is the place, unless that @ is in a folder's name.
  static PlacedModel Parse(std::string_view text);
};

// The options of a model at that place; if that is empty, those of all models.
Result<ClusterOptions> OptionsAt(const ClusterOptions& all, const std::string& place);

}  // namespace aster::open
