// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The state of a store's tensors, in lines of text with a checksum each: an incomplete line, and
// all after it, count as never written. Losing lines only costs work: data are hashed again before
// they are used, unless the file is unchanged since the journal was closed. The format is described
// in docs/fetch.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/mapped_file.h"

namespace aster::fetch {

// How much of a tensor has been stored.
struct TensorState {
  uint64_t bytes = 0;  // from its beginning
  bool is_verified = false;

  bool operator==(const TensorState&) const = default;
};

// Shows that a file was not changed. (Without the device number, which differs after a restart.)
struct FileStamp {
  uint64_t inode = 0;
  uint64_t size_bytes = 0;
  int64_t modified_ns = 0;

  static FileStamp Of(const FileIdentity& identity) {
    return {identity.inode, identity.size_bytes, identity.modified_ns};
  }
  bool operator==(const FileStamp&) const = default;
};

struct Journal {
  std::vector<std::vector<TensorState>> tensors;  // [file][tensor], in the manifest's order
  std::vector<std::optional<FileStamp>> stamps;   // [file]

  bool operator==(const Journal&) const = default;
};

// `sizes`: the tensors' bytes, [file][tensor]; `manifest`: the hash of the manifest that the
// journal must belong to. Any other text gives an empty journal.
Journal ParseJournal(std::string_view text, const Hash128& manifest,
                     const std::vector<std::vector<uint64_t>>& sizes);

// A whole journal, as short as possible.
std::string FormatJournal(const Journal& journal, const Hash128& manifest);
// Lines to append.
std::string TensorLine(size_t file_index, size_t tensor_index, const TensorState& state);
std::string StampLine(size_t file_index, const FileStamp& stamp);

}  // namespace aster::fetch
