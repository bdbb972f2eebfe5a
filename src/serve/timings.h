// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How long a prompt and its answer took, as llama.cpp's clients read it. Must not know dialects.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "serve/reply_writer.h"

namespace aster::serve {

// Rates are of the tokens that were computed: a prompt's without cached ones, an answer's without
// its first.
nlohmann::ordered_json TimingsJson(const Usage& usage);
nlohmann::ordered_json ProgressJson(const PromptProgress& progress);

}  // namespace aster::serve
