// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which metadata affects a model's results, and which only describes the file. Descriptions may
// differ between files of a model, and do not change its fingerprint.
#pragma once

#include <string_view>

namespace aster::gguf {

// False for descriptions (general.* except the architecture: name, author, alignment, file type),
// for how it was split (split.*) or made (quantize.*), and for chat templates, which users repair
// in files with the same weights.
bool KeyMatters(std::string_view key);

}  // namespace aster::gguf
