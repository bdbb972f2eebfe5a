// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The tokenizer and the chat template of a model file. Must not know what a command does with them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gguf/model_files.h"
#include "open/reporter.h"
#include "text/tokenizer.h"

namespace aster::open {

// The reporter gets notes about odd vocabularies. Errors name the file.
Result<std::unique_ptr<text::Tokenizer>> LoadTokenizer(const gguf::ModelFiles& files,
                                                       std::string_view path, Reporter& reporter);

}  // namespace aster::open
