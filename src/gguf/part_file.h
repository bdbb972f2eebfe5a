// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A large file that exists completely or not at all: written as PATH.part, renamed to PATH when it
// is complete and safe on the disk. Unlike AtomicFile it reserves the disk space beforehand, and
// buffers small pieces. The file of a killed program is visible and reused by the next one; no
// hidden file with many gigabytes is left. Knows nothing of the content.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace aster::gguf {

// Not for concurrent use. Unless Finish succeeded, PATH is unchanged and destruction removes
// PATH.part.
class PartFile {
 public:
  // Refuses while another program writes the same file. If the size is known (not 0), the disk
  // space is reserved at once, so that a full disk is noticed now and not hours later.
  static Result<PartFile> Create(const std::string& path, uint64_t expected_bytes = 0);

  PartFile(PartFile&& other) noexcept;
  PartFile& operator=(PartFile&& other) noexcept;
  ~PartFile();

  const std::string& path() const { return path_; }

  Status Append(Bytes bytes);
  // After this has succeeded, PATH is the new file, whatever happens.
  Status Finish();

 private:
  PartFile() = default;
  Status Flush();
  Status WriteThrough(Bytes bytes);
  std::string part_path() const { return path_ + ".part"; }

  std::string path_;
  int descriptor_ = -1;          // -1: finished or moved from
  std::vector<uint8_t> buffer_;  // appended, not written yet
};

}  // namespace aster::gguf
