// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Caches the content hashes of a file's tensors, so that a file is read only once: in
// FILE.fingerprint beside it, or in the user's cache folder if that cannot be written. A cache that
// is damaged, or of another version of the file, is ignored. docs/gguf.md describes the format.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/mapped_file.h"
#include "base/result.h"

namespace aster::gguf {

// The content of a cache file.
struct CachedHashes {
  FileIdentity identity;        // of the file that was hashed
  std::vector<Hash128> hashes;  // of its tensors, in its order

  bool operator==(const CachedHashes&) const = default;
};

std::string FormatCachedHashes(const CachedHashes& cached);
Result<CachedHashes> ParseCachedHashes(std::string_view text);

// The user's (base/files.h); empty if there is none.
std::string DefaultCacheFolder();

// The two places for the cache of the file at `path`, the one beside it first. Only that one if
// cache_folder is empty.
std::vector<std::string> CachePaths(const std::string& path, const std::string& cache_folder);

// The cached hashes of this version of the file, if it has `tensor_count` tensors.
std::optional<std::vector<Hash128>> LoadCachedHashes(const std::string& path,
                                                     const FileIdentity& identity,
                                                     size_t tensor_count,
                                                     const std::string& cache_folder);

// An error if it could not be stored in either place.
Status StoreCachedHashes(const std::string& path, const CachedHashes& cached,
                         const std::string& cache_folder);

}  // namespace aster::gguf
