// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Filters, `value | name(arguments)`, and tests, `value is name(arguments)`. Must not know how
// templates are parsed or evaluated.
#pragma once

#include <span>
#include <string_view>

#include "jinja/builtin.h"

namespace aster::jinja {

// nullptr if there is none of that name.
const Builtin* FindFilter(std::string_view name);
const Builtin* FindTest(std::string_view name);

// The value as a string: itself if it is one.
Result<Ref<String>> SoftString(Runtime& runtime, const Value& value);

// The tables, by file.
std::span<const Builtin> TextFilters();
std::span<const Builtin> NumberFilters();
std::span<const Builtin> SequenceFilters();
std::span<const Builtin> OrderFilters();
std::span<const Builtin> LazyFilters();
std::span<const Builtin> JsonFilters();
std::span<const Builtin> Tests();

}  // namespace aster::jinja
