// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A folder of page files: lists and removes them. Other files are left alone. Must not know what
// pages are used for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "disk/page_index.h"

namespace aster::disk {

// All page files at this moment.
Result<std::vector<IndexedFile>> ListPageFiles(const std::string& folder);

// True if it does not exist. False if it could not be removed.
bool RemovePageFile(const std::string& folder, const PageFileName& name);

// Records that the file was used, for other and later processes. May fail without harm.
void MarkUsed(const std::string& folder, const PageFileName& name, int64_t wall_ns);

// Removes incomplete files of killed processes. A file younger than a minute may still be being
// written.
void RemoveLeftovers(const std::string& folder, int64_t wall_ns);

}  // namespace aster::disk
