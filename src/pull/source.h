// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What people type to name a model that is elsewhere: an address, or a repository of a model hub.
// Must not know how anything is fetched.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace aster::pull {

// hf:ORG/REPO[@REVISION][:FILE or QUANTISATION]
struct HubSource {
  std::string repository;         // "org/repo"
  std::string revision = "main";  // branch, tag or commit
  std::string selector;           // "model-Q4_K_M.gguf", "Q4_K_M"; empty: the hub's files decide

  bool operator==(const HubSource&) const = default;
};

// http://… or https://…
struct UrlSource {
  std::string url;

  bool operator==(const UrlSource&) const = default;
};

using Source = std::variant<HubSource, UrlSource>;

// Whether the text is meant to be a source, well formed or not.
bool LooksLikeSource(std::string_view text);

// An error says which forms there are.
Result<Source> ParseSource(std::string_view text);

// As ParseSource reads it. Passwords in addresses are left out.
std::string ToText(const Source& source);

// The last part of the address's path, with escapes resolved; an error where that is no file name.
Result<std::string> FileNameOf(const UrlSource& source);

}  // namespace aster::pull
