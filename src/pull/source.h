// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How users name a model on another machine: a URL, or a repository of a model hub. Must not know
// how anything is fetched.
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
  std::string selector;           // "model-Q4_K_M.gguf", "Q4_K_M"; empty: the default choice

  bool operator==(const HubSource&) const = default;
};

// http://… or https://…
struct UrlSource {
  std::string url;

  bool operator==(const UrlSource&) const = default;
};

using Source = std::variant<HubSource, UrlSource>;

// Whether the text is meant as a source, well formed or not.
bool LooksLikeSource(std::string_view text);

// An error lists the possible forms.
Result<Source> ParseSource(std::string_view text);

// In the form of ParseSource. Without passwords of URLs.
std::string ToText(const Source& source);

// The last part of the URL's path, unescaped; an error if that is not a file name.
Result<std::string> FileNameOf(const UrlSource& source);

}  // namespace aster::pull
