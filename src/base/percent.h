// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Characters as URIs escape them: "%2F". Must not know what URIs are made of.
#pragma once

#include <string>
#include <string_view>

namespace aster {

// What is no escape stays as it is. The result may be any bytes.
std::string WithoutPercents(std::string_view text);

}  // namespace aster
