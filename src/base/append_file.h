// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A file that grows piece by piece and belongs to one process at a time, for data that must survive
// an early end of the process. For files that appear when they are complete: base/files.h.
#pragma once

#include <cstdint>
#include <optional>
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
  // All of `text`, or none of it if the disk is full.
  Status Append(std::string_view text);
  // Waits until all of it is on the disk.
  Status Sync();

 private:
  // Null if the path no longer names the file that was opened.
  static Result<std::optional<AppendFile>> TryOpen(const std::string& path);
  AppendFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_ = -1;      // owned; -1 after a move
  uint64_t size_bytes_ = 0;  // of the committed part
};

}  // namespace aster
