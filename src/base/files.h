// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Small files and folders: bounded reading, writing so that a reader (or a power cut) sees the old
// file or the new one and nothing between, and this user's folders for the program. Large files
// that are only read are mapped instead (base/mapped_file.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace aster {

// The whole content of a file, a pipe or a file under /proc; an error if it is longer than
// max_bytes.
Result<std::string> ReadFile(const std::string& path, size_t max_bytes);

// The file that a new one of this name would replace: links are followed. An error if that is a
// folder, a device or a pipe, which must not be replaced.
Result<std::string> FileToReplace(const std::string& path);

Status WriteFileAtomically(const std::string& path, Bytes content);

// A file that appears under its name, complete, with Commit(), or never: until then the bytes go to
// a temporary file beside it, which is removed with this object. Not for concurrent use.
class AtomicFile {
 public:
  // `mode`: the file's mode, reduced by the umask, from the first moment on.
  static Result<AtomicFile> Create(const std::string& path, uint32_t mode = 0666);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  // Appends. Not buffered: give it large pieces.
  Status Write(Bytes bytes);
  // Overwrites bytes written before, for headers whose content is known last.
  Status WriteAt(uint64_t offset, Bytes bytes);
  // Writes everything to the disk and gives the file its name, replacing an existing one.
  Status Commit();
  // The same without waiting for the disk: after a power cut soon after, the file may have any
  // content. For files with checksums that can be made again.
  Status CommitUnsynced();

  uint64_t size_bytes() const { return size_bytes_; }

  // Whether a file of this name was not committed: a killed process left it, or it is being
  // written.
  static bool IsTemporaryName(std::string_view name);

 private:
  AtomicFile(std::string path, std::string temporary_path, int descriptor)
      : path_(std::move(path)),
        temporary_path_(std::move(temporary_path)),
        descriptor_(descriptor) {}

  std::string path_;
  std::string temporary_path_;
  int descriptor_ = -1;  // owned; -1 after Commit or a move
  uint64_t size_bytes_ = 0;
};

// Makes a folder and missing parents. Succeeds if it exists.
Status MakeDirectories(const std::string& path);

// This user's folders for this program (not made by this call), by the XDG base directory rules:
// $XDG_CACHE_HOME/asterism or ~/.cache/asterism for data that can be computed again,
// $XDG_CONFIG_HOME/asterism or ~/.config/asterism for the user's settings, $XDG_DATA_HOME/asterism
// or ~/.local/share/asterism for data that must be kept.
Result<std::string> CacheDirectory();
Result<std::string> ConfigDirectory();
Result<std::string> DataDirectory();

// Holds a file's lock among cooperating processes until it is destroyed; the file is made if it is
// missing and stays.
class FileLock {
 public:
  // Unavailable if another process (or another FileLock of this one) holds it.
  static Result<FileLock> TryAcquire(const std::string& path, uint32_t mode = 0666);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;  // owned
};

// A new folder that is removed, with its contents, at the end.
class TemporaryDirectory {
 public:
  static Result<TemporaryDirectory> Create();

  TemporaryDirectory(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&& other) noexcept;
  ~TemporaryDirectory();

  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;  // empty after a move
};

}  // namespace aster
