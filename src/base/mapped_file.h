// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A file's bytes in memory, which the system reads when they are first touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace aster {

// Distinguishes versions of a file without reading it.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size_bytes = 0;
  int64_t modified_ns = 0;

  bool operator==(const FileIdentity&) const = default;
};

Result<FileIdentity> IdentifyFile(const std::string& path);

// A read-only private mapping of a whole regular file. Movable; the bytes keep their address.
// Constant after Open, so any number of threads may read.
class MappedFile {
 public:
  static Result<MappedFile> Open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  Bytes bytes() const { return {data_, identity_.size_bytes}; }
  const std::string& path() const { return path_; }
  const FileIdentity& identity() const { return identity_; }

  // Hints for a range of bytes() (rounded inwards to whole pages for releasing): it will be read
  // soon, in order; or not again, so that its pages need not stay in memory.
  void WillNeed(size_t offset, size_t size) const;
  void DontNeed(size_t offset, size_t size) const;

 private:
  std::string path_;
  const uint8_t* data_ = nullptr;  // [identity_.size_bytes], owned
  FileIdentity identity_;
};

}  // namespace aster
