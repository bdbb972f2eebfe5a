// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which metadata says what a model computes, and which only describes the file. Two files agree
// about a model, and a fingerprint stays the same, whatever the describing keys say.
#pragma once

#include <string_view>

namespace aster::gguf {

// False for descriptions (general.* but the architecture: name, author, alignment, file type),
// for how it was cut into files (split.*) or made (quantize.*), and for chat templates, which
// people repair in files whose weights stay the same.
bool KeyMatters(std::string_view key);

}  // namespace aster::gguf
