// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Percent-escapes of URIs: "%2F". Must not know the structure of URIs.
#pragma once

#include <string>
#include <string_view>

namespace aster {

// Invalid escapes stay unchanged. The result may have any bytes.
std::string WithoutPercents(std::string_view text);

}  // namespace aster
