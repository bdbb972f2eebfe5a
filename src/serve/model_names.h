// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Names of models as people write them. Must not know models.
#pragma once

#include <string>
#include <string_view>

namespace aster::serve {

// What remains of a name where case, the folder and the ending of a file, and Ollama's tag "latest"
// tell nothing: "nova" for "Nova", "nova:latest", "models/nova.gguf".
std::string PlainName(std::string_view written);

}  // namespace aster::serve
