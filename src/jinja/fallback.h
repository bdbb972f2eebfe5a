// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Chat templates for architectures whose published files often carry none. Must not know files.
#pragma once

#include <string>
#include <string_view>

namespace aster::jinja {

// The template for models of an architecture; empty where there is none. Variables beside the usual
// ones: enable_thinking (false where not given), response_format (a schema), reasoning_effort: of
// DeepSeek V4 "max", or "high" where prompts are those of July's refresh (effort_table = "0731"),
// of V4.1 "low", "high", "xhigh", "max" or a number from 1 to 100.
std::string_view FallbackTemplate(std::string_view architecture);

// What stands in for a file's own template where that takes tools in a way of its own, or leaves it
// to people to tell the model of them; empty where the file's serves. Without tools it writes the
// same.
std::string ReplacementTemplate(std::string_view architecture, std::string_view source);

}  // namespace aster::jinja
