// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Names of models as users write them. Must not know models.
#pragma once

#include <string>
#include <string_view>

namespace aster::serve {

// A name without case, folder, file suffix, and Ollama's tag "latest": "nova" for "Nova",
// "nova:latest", "models/nova.gguf".
std::string PlainName(std::string_view written);

}  // namespace aster::serve
