// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace aster {
namespace {

// Closes its descriptor at the end of a scope.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int value() const { return value_; }

 private:
  int value_;
};

// A read or write call transfers at most this much, a little less than Linux's own limit.
constexpr size_t kMaxTransferBytes = size_t{1} << 30;

// The least memory that ReadFile allocates before it reads.
constexpr size_t kMinReadBytes = size_t{4} << 10;
constexpr size_t kMaxHintBytes = size_t{64} << 20;

constexpr std::string_view kTemporaryStart = ".asterism-";
constexpr std::string_view kTemporaryEnding = ".new";

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Makes a rename in this folder survive a power cut. Some file systems cannot; that is no error.
void SyncFolder(const std::string& path) {
  const Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.value() >= 0) fsync(folder.value());
}

std::string EnvironmentVariable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// By the XDG rules, a relative path in these variables is ignored.
Result<std::string> UserDirectory(const char* variable, std::string_view below_home) {
  const std::string root = EnvironmentVariable(variable);
  if (root.starts_with('/')) return root + "/asterism";
  const std::string home = EnvironmentVariable("HOME");
  if (home.starts_with('/')) return fmt::format("{}/{}/asterism", home, below_home);
  return FailedPrecondition(
      fmt::format("no home folder is known: set HOME or {} to an absolute path", variable));
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.value() < 0) return SystemError(errno, path);
  struct stat info{};
  if (fstat(file.value(), &info) != 0) return SystemError(errno, path);
  // The size is only a hint (files under /proc have 0), and limits the memory allocated at first.
  const size_t limit = std::min(max_bytes, std::string().max_size() - 1);
  const size_t hint = std::clamp(static_cast<size_t>(std::max<off_t>(info.st_size, 0)),
                                 kMinReadBytes, kMaxHintBytes);
  std::string content;
  size_t filled = 0;
  while (filled <= limit) {
    if (filled == content.size()) {
      // One byte more than expected, so that the end is detected without growing.
      content.resize(std::min(std::max(hint, 2 * filled), limit) + 1);
    }
    const size_t room = std::min(content.size() - filled, kMaxTransferBytes);
    const ssize_t got = read(file.value(), content.data() + filled, room);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(errno, path);
    if (got == 0) {
      content.resize(filled);
      return content;
    }
    filled += static_cast<size_t>(got);
  }
  return ResourceExhausted(fmt::format("{}: longer than {} bytes, the limit", path, max_bytes));
}

Result<std::string> FileToReplace(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path file = fs::weakly_canonical(path, error);
  if (error) return SystemError(error.value(), path);
  const fs::file_type type = fs::status(file, error).type();
  if (type == fs::file_type::directory)
    return InvalidArgument(path + ": is a folder, a file's name is needed");
  if (type != fs::file_type::regular && type != fs::file_type::not_found)
    return InvalidArgument(path + ": is not an ordinary file, and must not be replaced by one");
  return file.string();
}

Status WriteFileAtomically(const std::string& path, Bytes content) {
  AtomicFile file = TRY(AtomicFile::Create(path));
  TRY(file.Write(content));
  return file.Commit();
}

Result<AtomicFile> AtomicFile::Create(const std::string& path, uint32_t mode) {
  std::string file = TRY(FileToReplace(path));
  static std::atomic<uint64_t> counter = 0;
  // An existing name was left by a crash of an earlier process with the same number.
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string temporary_path = fmt::format("{}/{}{}-{}{}", FolderOf(file), kTemporaryStart,
                                             getpid(), counter++, kTemporaryEnding);
    const int descriptor =
        open(temporary_path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor >= 0) {
      return AtomicFile(std::move(file), std::move(temporary_path), descriptor);
    }
    if (errno != EEXIST) return SystemError(errno, path);
  }
  return SystemError(EEXIST, FolderOf(path) + "/.asterism-*.new");
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_path_(std::move(other.temporary_path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_bytes_(other.size_bytes_) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_path_, other.temporary_path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_path_.c_str());
}

Status AtomicFile::Write(Bytes bytes) { return WriteAt(size_bytes_, bytes); }

Status AtomicFile::WriteAt(uint64_t offset, Bytes bytes) {
  CHECK(descriptor_ >= 0 && offset <= size_bytes_);
  while (!bytes.empty()) {
    const ssize_t written =
        pwrite(descriptor_, bytes.data(), std::min(bytes.size(), kMaxTransferBytes),
               static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(errno, path_);
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
    size_bytes_ = std::max(size_bytes_, offset);
  }
  return Ok();
}

Status AtomicFile::Commit() {
  CHECK(descriptor_ >= 0);
  if (fsync(descriptor_) != 0) return SystemError(errno, path_);
  TRY(CommitUnsynced());
  SyncFolder(FolderOf(path_));
  return Ok();
}

bool AtomicFile::IsTemporaryName(std::string_view name) {
  return name.starts_with(kTemporaryStart) && name.ends_with(kTemporaryEnding);
}

Status AtomicFile::CommitUnsynced() {
  CHECK(descriptor_ >= 0);
  if (rename(temporary_path_.c_str(), path_.c_str()) != 0) return SystemError(errno, path_);
  const int descriptor = std::exchange(descriptor_, -1);
  if (close(descriptor) != 0) return SystemError(errno, path_);
  return Ok();
}

Status MakeDirectories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return SystemError(error.value(), path);
  // The library reports no error if the last part exists and is not a folder.
  if (!std::filesystem::is_directory(path, error)) return SystemError(ENOTDIR, path);
  return Ok();
}

Result<std::string> CacheDirectory() { return UserDirectory("XDG_CACHE_HOME", ".cache"); }
Result<std::string> ConfigDirectory() { return UserDirectory("XDG_CONFIG_HOME", ".config"); }
Result<std::string> DataDirectory() { return UserDirectory("XDG_DATA_HOME", ".local/share"); }

Result<FileLock> FileLock::TryAcquire(const std::string& path, uint32_t mode) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, mode);
  if (descriptor < 0) return SystemError(errno, path);
  FileLock lock(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) {
    return Error(Code::kUnavailable, path + ": is locked by another process; wait for it to end");
  }
  return SystemError(errno, path);
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}
FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<TemporaryDirectory> TemporaryDirectory::Create() {
  const std::string root = EnvironmentVariable("TMPDIR");
  std::string path = (root.empty() ? "/tmp" : root) + "/asterism-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return SystemError(errno, path);
  return TemporaryDirectory(std::move(path));
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}
TemporaryDirectory& TemporaryDirectory::operator=(TemporaryDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}
TemporaryDirectory::~TemporaryDirectory() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace aster
