// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What a model file says about text: its tokenizer and its chat template. Must not know what a
// command does with them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/console.h"
#include "gguf/model_files.h"
#include "text/tokenizer.h"

namespace aster::cli {

// Notes about odd vocabularies go to the console. Errors say which file.
Result<std::unique_ptr<text::Tokenizer>> LoadTokenizer(const gguf::ModelFiles& files,
                                                       std::string_view path, Console& console);

// The text of a token that the metadata names by id, such as "bos"; nothing where it does not.
std::string SpecialTokenText(const gguf::Metadata& metadata, std::string_view role);

// The source of the chat template, the architecture's own where the file has none; nothing where
// there is none either.
std::string ChatTemplateSource(const gguf::Metadata& metadata);

}  // namespace aster::cli
