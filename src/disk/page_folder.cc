// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "disk/page_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/clock.h"
#include "base/files.h"

namespace aster::disk {
namespace {

constexpr int64_t kLeftoverNs = 60 * kNsPerSecond;

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

int64_t ModifiedNs(const struct stat& info) {
  return int64_t{info.st_mtim.tv_sec} * kNsPerSecond + info.st_mtim.tv_nsec;
}

// Calls visit(name, stat) for every plain file.
template <typename Visit>
Status ForEachFile(const std::string& path, const Visit& visit) {
  const Folder folder(opendir(path.c_str()));
  if (folder == nullptr) return SystemError(errno, path);
  const int descriptor = dirfd(folder.get());
  while (const dirent* entry = readdir(folder.get())) {
    struct stat info = {};
    // Others may remove files meanwhile.
    if (fstatat(descriptor, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(info.st_mode)) visit(std::string_view(entry->d_name), info);
  }
  return Ok();
}

}  // namespace

Result<std::vector<IndexedFile>> ListPageFiles(const std::string& folder) {
  std::vector<IndexedFile> files;
  TRY(ForEachFile(folder, [&](std::string_view name, const struct stat& info) {
    const auto parsed = PageFileName::Parse(name);
    if (!parsed) return;
    files.push_back({.name = *parsed,
                     .bytes = static_cast<uint64_t>(info.st_size),
                     .used_ns = ModifiedNs(info)});
  }));
  return files;
}

bool RemovePageFile(const std::string& folder, const PageFileName& name) {
  return unlink((folder + "/" + name.ToText()).c_str()) == 0 || errno == ENOENT;
}

void MarkUsed(const std::string& folder, const PageFileName& name, int64_t wall_ns) {
  timespec time = {};
  time.tv_sec = wall_ns / kNsPerSecond;
  time.tv_nsec = wall_ns % kNsPerSecond;
  const timespec times[] = {time, time};
  static_cast<void>(utimensat(AT_FDCWD, (folder + "/" + name.ToText()).c_str(), times, 0));
}

void RemoveLeftovers(const std::string& folder, int64_t wall_ns) {
  static_cast<void>(ForEachFile(folder, [&](std::string_view name, const struct stat& info) {
    if (!AtomicFile::IsTemporaryName(name) || wall_ns - ModifiedNs(info) < kLeftoverNs) return;
    unlink((folder + "/" + std::string(name)).c_str());
  }));
}

}  // namespace aster::disk
