// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One string, quoted and escaped as JSON, from any bytes. Whole documents are made with a JSON
// library, above this folder.
#pragma once

#include <string>
#include <string_view>

namespace aster {

// Appends `text` in double quotes. Bytes that are not UTF-8 become U+FFFD, so that the result is
// always valid JSON.
void AppendJsonString(std::string& out, std::string_view text);

}  // namespace aster
