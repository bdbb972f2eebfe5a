// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether alternatives of a JSON schema exclude each other, so that what is one of them is exactly
// one. Must not know grammars.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace aster::grammar {

// Why no value that is written for one of the schemas can be of another one, too. Empty: because
// of their types, values or members; else the name of a member that is another value in each of
// them, where it is there. Nothing where it cannot be told.
std::optional<std::string> WhatTellsApart(const nlohmann::ordered_json& list);

}  // namespace aster::grammar
