// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Offers to pull a model that a person at a terminal named by its source. Must not know what is
// done with the model.
#pragma once

#include "base/result.h"
#include "cli/terminal/console.h"
#include "open/model_options.h"

namespace aster::cli {

// Where the model is one that is not on this machine, and a person can answer: asks, pulls it and
// names its files. Else nothing changes.
Status OfferPull(open::ModelOptions& model, Console& console);

}  // namespace aster::cli
