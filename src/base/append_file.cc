// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/append_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

namespace aster {

namespace {

// Its name changes hands while it is opened far less often.
constexpr int kMaxOpens = 100;

bool IsSameFile(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace

Result<AppendFile> AppendFile::Open(const std::string& path) {
  for (int i = 0; i < kMaxOpens; ++i) {
    std::optional<AppendFile> file = TRY(TryOpen(path));
    if (file) return *std::move(file);
  }
  return Error(Code::kUnavailable, path + ": other processes rename or remove it all the time");
}

Result<std::optional<AppendFile>> AppendFile::TryOpen(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for its other end.
  const int descriptor =
      open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (descriptor < 0) return SystemError(errno, path);
  AppendFile file(path, descriptor);
  struct stat status = {};
  if (fstat(descriptor, &status) != 0) return SystemError(errno, path);
  if (!S_ISREG(status.st_mode)) return InvalidArgument(path + ": is no plain file");
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return SystemError(errno, path);
    return Error(
        Code::kUnavailable,
        path + ": another process is writing it; wait for it to end, or give another name");
  }
  // Before it was locked, its last holder may have given it another name, or removed it.
  struct stat named = {};
  if (fstat(descriptor, &status) != 0) return SystemError(errno, path);
  if (stat(path.c_str(), &named) != 0 && errno != ENOENT) return SystemError(errno, path);
  if (!IsSameFile(status, named)) return std::optional<AppendFile>();
  file.size_bytes_ = static_cast<uint64_t>(status.st_size);
  return std::optional(std::move(file));
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_bytes_(other.size_bytes_) {}
AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}
AppendFile::~AppendFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status AppendFile::CutAt(uint64_t size_bytes) {
  if (ftruncate(descriptor_, static_cast<off_t>(size_bytes)) != 0) return SystemError(errno, path_);
  size_bytes_ = size_bytes;
  return Ok();
}

Status AppendFile::Append(std::string_view text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(descriptor_, text.data() + written, text.size() - written);
    if (count > 0) {
      written += static_cast<size_t>(count);
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    const Error error = SystemError(count < 0 ? errno : EIO, path_);
    // A partly written piece would be worse than none.
    TRY(CutAt(size_bytes_));
    return error;
  }
  size_bytes_ += text.size();
  return Ok();
}

Status AppendFile::Sync() {
  if (fsync(descriptor_) != 0) return SystemError(errno, path_);
  return Ok();
}

}  // namespace aster
