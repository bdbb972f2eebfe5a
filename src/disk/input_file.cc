// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "disk/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace aster::disk {

Result<InputFile> InputFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for its other end.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return SystemError(errno, path);
  InputFile file(path, descriptor);
  struct stat info = {};
  if (fstat(descriptor, &info) != 0) return SystemError(errno, path);
  if (!S_ISREG(info.st_mode)) return InvalidArgument(path + ": is no plain file");
  file.size_bytes_ = static_cast<uint64_t>(info.st_size);
  return file;
}

InputFile InputFile::Of(Bytes bytes, std::string path) {
  InputFile file(std::move(path), -1);
  file.memory_ = bytes;
  file.size_bytes_ = bytes.size();
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      memory_(other.memory_),
      size_bytes_(other.size_bytes_) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

// While it is open no other file can have its inode number.
bool InputFile::IsAt(const std::string& path) const {
  struct stat mine = {}, there = {};
  return descriptor_ >= 0 && fstat(descriptor_, &mine) == 0 && stat(path.c_str(), &there) == 0 &&
         mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

Error InputFile::Damaged(uint64_t offset, std::string_view why) const {
  return DataLoss(fmt::format("{}: damaged at byte {} of {}: {}", path_, offset, size_bytes_, why));
}

Status InputFile::ReadAt(uint64_t offset, uint64_t bytes, uint8_t* into) const {
  if (offset > size_bytes_ || bytes > size_bytes_ - offset) {
    return Damaged(size_bytes_, "it ends too early");
  }
  if (descriptor_ < 0) {
    if (bytes > 0) std::memcpy(into, memory_.data() + offset, bytes);
    return Ok();
  }
  while (bytes > 0) {
    const ssize_t got = pread(descriptor_, into, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(errno, path_);
    if (got == 0) return Damaged(offset, "it has become shorter");
    into += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<uint64_t>(got);
  }
  return Ok();
}

}  // namespace aster::disk
