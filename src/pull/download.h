// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Downloads one remote file: resumed after interruptions, checked, and only then given its name.
// Must not know models.
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
  // Consecutive tries without a byte.
  uint32_t max_tries = 6;
  // Bytes so far, and in total; 0: unknown.
  std::function<void(uint64_t done, uint64_t total)> on_progress = nullptr;
  std::function<void(const std::string&)> on_note = nullptr;
};

// Writes the file's bytes to `path`. Until they are complete and right they are in path + ".part",
// where the next call continues. Unavailable if the server cannot be reached after all tries;
// DataLoss if the bytes are not the expected ones.
Status Download(HttpClient& http, const RemoteFile& file, const std::string& path, Clock& clock,
                const DownloadOptions& options);

}  // namespace aster::pull
