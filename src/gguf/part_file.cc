// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/part_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/files.h"

namespace aster::gguf {
namespace {

// Small pieces are buffered up to this size, larger ones written directly.
constexpr size_t kBufferBytes = size_t{1} << 20;
// The most bytes of one write; Linux stops at 2 GiB anyway.
constexpr size_t kMaxWriteBytes = size_t{1} << 30;
constexpr mode_t kFileMode = 0666;  // minus the umask

// Whether `path` still names the file that is open as `descriptor`.
bool IsStillThere(const std::string& path, int descriptor) {
  struct stat named{};
  struct stat opened{};
  return stat(path.c_str(), &named) == 0 && fstat(descriptor, &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

}  // namespace

Result<PartFile> PartFile::Create(const std::string& path, uint64_t expected_bytes) {
  PartFile file;
  file.path_ = TRY(FileToReplace(path));
  const std::string part_path = file.part_path();
  // Not O_TRUNC: if another program is writing it, its bytes must stay.
  file.descriptor_ = open(part_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kFileMode);
  if (file.descriptor_ < 0) return SystemError(errno, part_path);
  if (flock(file.descriptor_, LOCK_EX | LOCK_NB) != 0 ||
      !IsStillThere(part_path, file.descriptor_)) {
    close(std::exchange(file.descriptor_, -1));
    return Error(Code::kUnavailable,
                 path + ": another program is writing this file; wait for it to end");
  }
  if (ftruncate(file.descriptor_, 0) != 0) return SystemError(errno, part_path);
  if (expected_bytes > 0 &&
      fallocate(file.descriptor_, 0, 0, static_cast<off_t>(expected_bytes)) != 0 &&
      (errno == ENOSPC || errno == EFBIG || errno == EDQUOT)) {
    return SystemError(errno,
                       fmt::format("{}: {} bytes are needed on the disk", path, expected_bytes));
  }
  return file;
}

PartFile::PartFile(PartFile&& other) noexcept { *this = std::move(other); }

PartFile& PartFile::operator=(PartFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

PartFile::~PartFile() {
  if (descriptor_ < 0) return;
  unlink(part_path().c_str());
  close(descriptor_);
}

Status PartFile::Append(Bytes bytes) {
  CHECK(descriptor_ >= 0);
  if (buffer_.size() + bytes.size() > kBufferBytes) TRY(Flush());
  if (bytes.size() >= kBufferBytes) return WriteThrough(bytes);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return Ok();
}

Status PartFile::Flush() {
  TRY(WriteThrough(buffer_));
  buffer_.clear();
  return Ok();
}

Status PartFile::WriteThrough(Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        write(descriptor_, bytes.data(), std::min(bytes.size(), kMaxWriteBytes));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(errno, part_path());
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return Ok();
}

Status PartFile::Finish() {
  CHECK(descriptor_ >= 0);
  TRY(Flush());
  // The reserved space may have been too much.
  const off_t end = lseek(descriptor_, 0, SEEK_CUR);
  if (end < 0 || ftruncate(descriptor_, end) != 0) return SystemError(errno, part_path());
  // Some file systems notice only now that the disk is full.
  if (fsync(descriptor_) != 0) return SystemError(errno, part_path());
  if (std::rename(part_path().c_str(), path_.c_str()) != 0) return SystemError(errno, path_);
  close(std::exchange(descriptor_, -1));
  return Ok();
}

}  // namespace aster::gguf
