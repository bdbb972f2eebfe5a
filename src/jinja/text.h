// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Values as text, as by Python's str() and repr(). Must not know JSON.
#pragma once

#include <string>
#include <string_view>

#include "jinja/runtime.h"

namespace aster::jinja {

Result<std::string> StrOf(Runtime& runtime, const Value& value);
Result<std::string> ReprOf(Runtime& runtime, const Value& value);

Status AppendStr(Runtime& runtime, TextBuilder& builder, const Value& value);
Status AppendRepr(Runtime& runtime, TextBuilder& builder, const Value& value);

std::string ReprOfString(std::string_view text);
// The shortest digits that read back as the same float.
std::string ReprOfFloat(double value);

}  // namespace aster::jinja
