// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A file that grows piece by piece and belongs to one process at a time, for what must not be lost
// when the process ends early. Files that appear when they are whole: base/files.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aster {

// Not for concurrent use.
class AppendFile {
 public:
  // The file at this path, made if it is missing. Unavailable while another AppendFile holds it; an
  // error if it is no plain file.
  static Result<AppendFile> Open(const std::string& path);

  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  ~AppendFile();

  // Cuts the file at `size_bytes`.
  Status CutAt(uint64_t size_bytes);
  // All of `text`, or none of it where the disk is full.
  Status Append(std::string_view text);
  // Waits until the disk has all of it.
  Status Sync();

 private:
  AppendFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_ = -1;      // owned; -1 after a move
  uint64_t size_bytes_ = 0;  // of what is to stay
};

}  // namespace aster
