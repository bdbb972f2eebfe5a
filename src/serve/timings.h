// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The times of a prompt and its answer, in the form of llama.cpp's clients. Must not know dialects.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "serve/reply_writer.h"

namespace aster::serve {

// Rates count computed tokens: a prompt's without cached ones, an answer's without its first.
nlohmann::ordered_json TimingsJson(const Usage& usage);
nlohmann::ordered_json ProgressJson(const PromptProgress& progress);

}  // namespace aster::serve
