// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The models that were pulled to this machine: files in a folder, each with where it came from.
// Must not know how they were fetched.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aster::pull {

struct LibraryModel {
  std::string name;                // of the file, without ending and part
  std::vector<std::string> paths;  // the parts in their order
  uint64_t size_bytes = 0;
  std::string source;       // as ToText gives it; empty where the file was put there by hand
  bool is_partial = false;  // a download that broke off: paths are what is there of it
};

// Where `aster pull` puts models: $XDG_DATA_HOME/asterism/models.
Result<std::string> LibraryFolder();

// By name; none where there is no folder.
std::vector<LibraryModel> ListLibrary(const std::string& folder);

// A whole one, by its name, a file's name or its source; case does not count. NotFound names those
// that are there.
Result<LibraryModel> FindInLibrary(const std::string& folder, std::string_view name);

// Deletes its files, partial ones too.
Status RemoveFromLibrary(const LibraryModel& model);

// Beside the file, for ListLibrary.
Status WriteSource(const std::string& path, const std::string& source);

}  // namespace aster::pull
