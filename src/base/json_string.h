// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One string, quoted and escaped as JSON, from any bytes. Whole documents are made with a JSON
// library, above this folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aster {

// kAscii writes every character outside of printable ASCII as \u escapes.
enum class JsonCharset : uint8_t { kUtf8, kAscii };

// Appends `text` in double quotes. Bytes that are not UTF-8 become U+FFFD, so that the result is
// always valid JSON.
void AppendJsonString(std::string& out, std::string_view text,
                      JsonCharset charset = JsonCharset::kUtf8);

}  // namespace aster
