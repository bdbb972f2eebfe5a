// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The files of a repository on a model hub, and those that a selector means. Reads the list of
// Hugging Face's kind of hubs. Must not know where files are put.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pull/http.h"
#include "pull/source.h"

namespace aster::pull {

struct RemoteFile {
  std::string url;
  std::string name;  // without folders
  std::optional<uint64_t> size_bytes = {};
  std::string sha256 = {};  // 64 hexadecimal digits; empty: unknown

  bool operator==(const RemoteFile&) const = default;
};

struct Hub {
  std::string address = "https://huggingface.co";
  std::string token = {};  // empty: none

  // The address from ASTER_HUB or HF_ENDPOINT, the token from HF_TOKEN, or from the file at
  // `token_path` or at HF_TOKEN_PATH.
  static Result<Hub> FromEnvironment(const std::string& token_path);
};

// The files that a source means, the parts of a split model in order. An error lists the choices.
Result<std::vector<RemoteFile>> ListFiles(HttpClient& http, const Hub& hub,
                                          const HubSource& source);

// The paths that a selector means. Public for tests.
Result<std::vector<std::string>> Choose(std::span<const std::string> paths,
                                        std::string_view selector);

}  // namespace aster::pull
