// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The place of an error in a JSON text. Must not know what the text is for.
#pragma once

#include <cstddef>
#include <string_view>

namespace aster::respond {

// The offset after which text that is not JSON becomes wrong.
size_t FindJsonError(std::string_view text);

}  // namespace aster::respond
