// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The models that were pulled to this machine: files in a folder, each with its source. Must not
// know how they were fetched.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aster::pull {

struct LibraryModel {
  std::string name;                // of the file, without suffix and part
  std::vector<std::string> paths;  // the parts in order
  uint64_t size_bytes = 0;
  std::string source;       // as ToText gives it; empty if the user put the file there
  bool is_partial = false;  // an interrupted download: paths are its files so far
};

// The folder of `aster pull`: $XDG_DATA_HOME/asterism/models.
Result<std::string> LibraryFolder();

// By name; empty if there is no folder.
std::vector<LibraryModel> ListLibrary(const std::string& folder);

// A complete model, by its name, a file's name or its source; ignores case. NotFound lists the
// existing ones.
Result<LibraryModel> FindInLibrary(const std::string& folder, std::string_view name);

// Deletes its files, partial ones too.
Status RemoveFromLibrary(const LibraryModel& model);

// Beside the file, for ListLibrary.
Status WriteSource(const std::string& path, const std::string& source);

}  // namespace aster::pull
