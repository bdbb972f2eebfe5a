// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/lost_files.h"

namespace aster {
namespace {

FileIdentity IdentityOf(const struct stat& info) {
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .size_bytes = static_cast<uint64_t>(info.st_size),
          .modified_ns = info.st_mtim.tv_sec * 1'000'000'000LL + info.st_mtim.tv_nsec};
}

Status CheckRegular(const struct stat& info, const std::string& path) {
  if (S_ISREG(info.st_mode)) return Ok();
  if (S_ISDIR(info.st_mode)) return InvalidArgument(path + ": is a folder, a file is needed");
  return InvalidArgument(path + ": is not a regular file");
}

}  // namespace

Result<FileIdentity> IdentifyFile(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return SystemError(errno, path);
  TRY(CheckRegular(info, path));
  return IdentityOf(info);
}

Result<MappedFile> MappedFile::Open(const std::string& path) {
  // O_NONBLOCK, so that a pipe without a writer is refused instead of waited for.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return SystemError(errno, path);
  struct Closer {
    int descriptor;
    ~Closer() { close(descriptor); }
  } closer{descriptor};

  struct stat info{};
  if (fstat(descriptor, &info) != 0) return SystemError(errno, path);
  TRY(CheckRegular(info, path));

  MappedFile file;
  file.path_ = path;
  file.identity_ = IdentityOf(info);
  if (file.identity_.size_bytes == 0) return file;
  void* data =
      mmap(nullptr, file.identity_.size_bytes, PROT_READ, MAP_PRIVATE, descriptor, /*offset=*/0);
  if (data == MAP_FAILED) return SystemError(errno, path);
  file.data_ = static_cast<const uint8_t*>(data);
  NoteMapping(file.data_, file.identity_.size_bytes, path);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(identity_, other.identity_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  ForgetMapping(data_);
  munmap(const_cast<uint8_t*>(data_), identity_.size_bytes);
}

void MappedFile::WillNeed(size_t offset, size_t size) const {
  CHECK(offset <= bytes().size() && size <= bytes().size() - offset);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t begin = offset / page * page;
  if (size > 0) madvise(const_cast<uint8_t*>(data_ + begin), offset + size - begin, MADV_WILLNEED);
}

void MappedFile::DontNeed(size_t offset, size_t size) const {
  CHECK(offset <= bytes().size() && size <= bytes().size() - offset);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t begin = (offset + page - 1) / page * page;
  const size_t end = (offset + size) / page * page;
  if (begin < end) madvise(const_cast<uint8_t*>(data_ + begin), end - begin, MADV_DONTNEED);
}

}  // namespace aster
