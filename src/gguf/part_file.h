// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A large file that is there whole or not at all: written as PATH.part, renamed to PATH when it is
// complete and safe on the disk. Unlike AtomicFile it takes the disk space beforehand, gathers
// small pieces, and what a killed program leaves is seen beside the file and taken over by the next
// one, not many gigabytes under a hidden name. Knows nothing of what is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace aster::gguf {

// Not for concurrent use. Unless Finish succeeded, PATH is as it was and destruction removes
// PATH.part.
class PartFile {
 public:
  // Refuses while another program writes the same file. Where the size is known beforehand (not 0),
  // the disk space is taken at once, so that a full disk is noticed now and not hours later.
  static Result<PartFile> Create(const std::string& path, uint64_t expected_bytes = 0);

  PartFile(PartFile&& other) noexcept;
  PartFile& operator=(PartFile&& other) noexcept;
  ~PartFile();

  const std::string& path() const { return path_; }

  Status Append(Bytes bytes);
  // Whatever happens after this, PATH is the new file.
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
