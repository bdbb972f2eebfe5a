// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// An untrusted file that is read in pieces: it may be shorter than its header says, and become so
// while it is read (so it is not mapped). Must not know formats.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace aster::disk {

// Not for concurrent use.
class InputFile {
 public:
  // NotFound if it does not exist; an error if it is not a plain file.
  static Result<InputFile> Open(const std::string& path);
  // Bytes in memory that are read like a file of that name; they outlive it.
  static InputFile Of(Bytes bytes, std::string path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  const std::string& path() const { return path_; }
  uint64_t size_bytes() const { return size_bytes_; }
  // Whether that path still names this very file, not an equal one, nor a replacement.
  bool IsAt(const std::string& path) const;

  // DataLoss if the file is shorter.
  Status ReadAt(uint64_t offset, uint64_t bytes, uint8_t* into) const;
  // "FILE: damaged at byte 12 of 34: why".
  Error Damaged(uint64_t offset, std::string_view why) const;

 private:
  InputFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;  // owned; -1: none
  Bytes memory_;    // used if there is no descriptor
  uint64_t size_bytes_ = 0;
};

}  // namespace aster::disk
