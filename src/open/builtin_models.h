// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Where the models that come with the program are, and what else is beside them: held-out text and
// questions. Must not know what is done with them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aster::open {

// What a command runs when no model is given.
inline constexpr std::string_view kDefaultModel = "nova";
inline constexpr std::string_view kQuestionsFile = "questions.jsonl";
inline constexpr std::string_view kHeldOutText = "held-out.txt";

// By name: "nova"…
std::span<const std::string_view> BuiltinModels();

// The places looked at, in this order: $ASTER_MODELS, where `cmake --install` puts models, and the
// source tree that the program was built from.
std::vector<std::string> ModelFolders();

// The path of what people call a model: a file, or the name of a built-in or pulled model
// (pull/library.h) where no file here has it. Other names are taken for paths. An error names the
// places looked at, or the command that pulls the model.
Result<std::string> FindModel(const std::string& name);
Result<std::string> FindModelIn(const std::string& name, std::span<const std::string> folders);

// A file that comes with the models, by its name.
Result<std::string> FindBesideModels(std::string_view file);
Result<std::string> FindBesideModelsIn(std::string_view file, std::span<const std::string> folders);

}  // namespace aster::open
