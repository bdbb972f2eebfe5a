// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether alternatives of a JSON schema exclude each other, so that a value of one is a value of
// exactly one. Must not know grammars.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace aster::grammar {

// Why no value that is written for one of the schemas can also be valid under another one. Empty:
// because of their types, values or members; else the name of a member that has different values in
// each of them, if it is there. Nothing if it is not known.
std::optional<std::string> FindDiscriminator(const nlohmann::ordered_json& list);

}  // namespace aster::grammar
