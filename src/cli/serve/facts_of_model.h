// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What clients of a server learn about a model, read from its files. Must not know dialects.
#pragma once

#include <optional>

#include "base/hash.h"
#include "gguf/model_files.h"
#include "serve/model_facts.h"
#include "text/tokenizer.h"

namespace aster::cli {

// Without a fingerprint if that would take too long.
serve::ModelFacts FactsOf(const gguf::ModelFiles& files, const text::Tokenizer& tokenizer,
                          const std::optional<Hash128>& fingerprint);

}  // namespace aster::cli
