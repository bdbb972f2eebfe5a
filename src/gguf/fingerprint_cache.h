// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Caches the content hashes of a file's tensors, so that a file is read through only once: in
// FILE.fingerprint beside it, or in the user's cache folder where that cannot be written. A cache
// that is damaged, or of another version of the file, counts as none. The format is described in
// docs/gguf.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/mapped_file.h"
#include "base/result.h"

namespace aster::gguf {

// What a cache file holds.
struct CachedHashes {
  FileIdentity identity;        // of the file that was hashed
  std::vector<Hash128> hashes;  // of its tensors, in its order

  bool operator==(const CachedHashes&) const = default;
};

std::string FormatCachedHashes(const CachedHashes& cached);
Result<CachedHashes> ParseCachedHashes(std::string_view text);

// The user's (base/files.h); empty where none is known.
std::string DefaultCacheFolder();

// The two places for the cache of the file at `path`, the one beside it first. The second is
// missing where cache_folder is empty.
std::vector<std::string> CachePaths(const std::string& path, const std::string& cache_folder);

// What was stored for this version of the file, if it has `tensor_count` tensors.
std::optional<std::vector<Hash128>> LoadCachedHashes(const std::string& path,
                                                     const FileIdentity& identity,
                                                     size_t tensor_count,
                                                     const std::string& cache_folder);

// An error where it could be stored in neither place.
Status StoreCachedHashes(const std::string& path, const CachedHashes& cached,
                         const std::string& cache_folder);

}  // namespace aster::gguf
