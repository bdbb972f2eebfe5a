// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Chat templates for architectures whose published files often have none. Must not know files.
#pragma once

#include <string>
#include <string_view>

namespace aster::jinja {

// The template for models of an architecture; empty if there is none. Variables beside the usual
// ones: enable_thinking (default false), response_format (a schema), reasoning_effort: for DeepSeek
// V4 "max", or "high" for prompts of July's refresh (effort_table = "0731"); for V4.1 "low",
// "high", "xhigh", "max" or a number from 1 to 100.
std::string_view FallbackTemplate(std::string_view architecture);

// The replacement for a file's own template if that has its own way of tools, or expects users to
// describe them to the model; empty if the file's is good. Without tools it writes the same.
std::string ReplacementTemplate(std::string_view architecture, std::string_view source);

}  // namespace aster::jinja
