// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One remote file on its way to the disk: resumed where it broke off, checked, and only then given
// its name. Must not know models.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "pull/http.h"
#include "pull/hub.h"

namespace aster::pull {

struct DownloadOptions {
  std::string bearer = {};
  // Tries in a row that bring no byte.
  uint32_t max_tries = 6;
  // Bytes that are there, and all of them; 0: not known.
  std::function<void(uint64_t done, uint64_t total)> on_progress = nullptr;
  std::function<void(const std::string&)> on_note = nullptr;
};

// The file's bytes become `path`. Until they are all there and right they are in path + ".part",
// from where the next call goes on. Unavailable where the server cannot be reached after all tries;
// DataLoss where what comes is not what was promised.
Status Download(HttpClient& http, const RemoteFile& file, const std::string& path, Clock& clock,
                const DownloadOptions& options);

}  // namespace aster::pull
