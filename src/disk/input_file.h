// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A file that is read in pieces, of which nothing is believed: it may be shorter than it says, and
// become so while it is read (so it is not mapped). Must not know formats.
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
  // NotFound where it is not there; an error where it is no plain file.
  static Result<InputFile> Open(const std::string& path);
  // Bytes in memory that are read as if they were a file of that name; they outlive it.
  static InputFile Of(Bytes bytes, std::string path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  const std::string& path() const { return path_; }
  uint64_t size_bytes() const { return size_bytes_; }
  // Whether that path still names this very file: not one that is alike, nor one that took its
  // place.
  bool IsAt(const std::string& path) const;

  // DataLoss where the file ends before.
  Status ReadAt(uint64_t offset, uint64_t bytes, uint8_t* into) const;
  // "FILE: damaged at byte 12 of 34: why".
  Error Damaged(uint64_t offset, std::string_view why) const;

 private:
  InputFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;  // owned; -1: none
  Bytes memory_;    // where there is none
  uint64_t size_bytes_ = 0;
};

}  // namespace aster::disk
