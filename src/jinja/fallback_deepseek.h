// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The chat templates of DeepSeek V3.2, V4 and V4.1, which share most of their markup. Must not know
// architectures.
#pragma once

#include <string_view>

namespace aster::jinja {

// Goes before a file's own template of V3.1, which does not write tools.
std::string_view DeepSeek31Tools();

std::string_view DeepSeek32Template();
std::string_view DeepSeek4Template();
std::string_view DeepSeek41Template();

}  // namespace aster::jinja
