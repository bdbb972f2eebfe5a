// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Offers to pull a model that a user at a terminal named by its source. Must not know what the
// model is used for.
#pragma once

#include "base/result.h"
#include "cli/terminal/console.h"
#include "open/model_options.h"

namespace aster::cli {

// If the model is not on this machine, and a user can answer: asks, pulls it and puts its files
// into `model`. Otherwise does nothing.
Status OfferPull(open::ModelOptions& model, Console& console);

}  // namespace aster::cli
