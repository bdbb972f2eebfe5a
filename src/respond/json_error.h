// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Where text that is to be JSON goes wrong. Must not know what the text is for.
#pragma once

#include <cstddef>
#include <string_view>

namespace aster::respond {

// The byte behind which text that is no JSON goes wrong.
size_t FindJsonError(std::string_view text);

}  // namespace aster::respond
