// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A folder of page files: listing and removing them. What is not one of them is left alone. Must
// not know what pages are used for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "disk/page_index.h"

namespace aster::disk {

// All page files that are there now.
Result<std::vector<IndexedFile>> ListPageFiles(const std::string& folder);

// Fine if it is not there. False where it could not be removed.
bool RemovePageFile(const std::string& folder, const PageFileName& name);

// Writes down that the file was used, for other processes and the next ones. May fail, without
// harm.
void MarkUsed(const std::string& folder, const PageFileName& name, int64_t wall_ns);

// Removes what processes that were killed have left half-written. A file younger than a minute may
// belong to a process that is writing it.
void RemoveLeftovers(const std::string& folder, int64_t wall_ns);

}  // namespace aster::disk
