// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether bytes are well-formed UTF-8. Only that: Unicode is text/'s.
#pragma once

#include <string_view>

namespace aster::gguf {

// Neither overlong forms nor surrogates nor numbers beyond U+10FFFF.
bool IsUtf8(std::string_view text);

}  // namespace aster::gguf
