// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Forms of answers and tools from users' files: JSON schemas, grammars in GBNF, lists of tools in
// OpenAI's form. Must not know what is answered.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "grammar/grammar.h"
#include "respond/conversation.h"

namespace aster::cli {

// Errors name the file and, if useful, the line.
Result<std::shared_ptr<const grammar::Grammar>> ReadSchemaFile(const std::string& path);
Result<std::shared_ptr<const grammar::Grammar>> ReadGrammarFile(const std::string& path);
Status ReadToolsFile(const std::string& path, respond::Conversation& conversation);

}  // namespace aster::cli
