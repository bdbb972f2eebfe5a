// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Pulls a model: finds its files, downloads and checks them and puts them into a folder. Must not
// know the command line.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "pull/http.h"
#include "pull/hub.h"
#include "pull/source.h"

namespace aster::pull {

struct PullOptions {
  std::string folder;  // made if it is missing
  Hub hub = {};
  // For a file: bytes so far, and in total; 0 if unknown.
  std::function<void(const RemoteFile& file, uint64_t done, uint64_t total)> on_progress = nullptr;
  std::function<void(const std::string&)> on_note = nullptr;
};

struct Pulled {
  std::vector<std::string> paths;  // the parts in order
  uint64_t size_bytes = 0;
  bool was_here = false;  // nothing had to be downloaded
};

Result<Pulled> Pull(HttpClient& http, const Source& source, Clock& clock,
                    const PullOptions& options);

}  // namespace aster::pull
