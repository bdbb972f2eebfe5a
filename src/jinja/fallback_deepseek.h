// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The chat templates of DeepSeek V3.2, V4 and V4.1, which share most of their markup. Must not know
// architectures.
#pragma once

#include <string_view>

namespace aster::jinja {

std::string_view DeepSeek32Template();
std::string_view DeepSeek4Template();
std::string_view DeepSeek41Template();

}  // namespace aster::jinja
