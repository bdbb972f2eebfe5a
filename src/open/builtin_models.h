// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Where the models that come with the program are, and the files beside them: held-out text and
// questions. Must not know how they are used.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aster::open {

// The model of a command that names none.
inline constexpr std::string_view kDefaultModel = "nova";
inline constexpr std::string_view kQuestionsFile = "questions.jsonl";
inline constexpr std::string_view kHeldOutText = "held-out.txt";

// Their names: "nova"…
std::span<const std::string_view> BuiltinModels();

// The folders that are searched, in this order: $ASTER_MODELS, where `cmake --install` puts models,
// and the source tree that the program was built from.
std::vector<std::string> ModelFolders();

// The path of a model: of a file, or of a built-in or pulled model (pull/library.h) by its name if
// no file here has it. Other names are taken for paths. An error lists the searched folders, or the
// command that pulls the model.
Result<std::string> FindModel(const std::string& name);
Result<std::string> FindModelIn(const std::string& name, std::span<const std::string> folders);

// The path of a file that comes with the models.
Result<std::string> FindBesideModels(std::string_view file);
Result<std::string> FindBesideModelsIn(std::string_view file, std::span<const std::string> folders);

}  // namespace aster::open
