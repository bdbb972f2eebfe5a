// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What clients of a server are told about a model, read from its files. Must not know dialects.
#pragma once

#include "cli/terminal/console.h"
#include "gguf/model_files.h"
#include "serve/model_facts.h"
#include "text/tokenizer.h"

namespace aster::cli {

serve::ModelFacts FactsOf(const gguf::ModelFiles& files, const text::Tokenizer& tokenizer,
                          Console& console);

}  // namespace aster::cli
