// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "pull/pull.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/files.h"
#include "gguf/file.h"
#include "gguf/model_files.h"
#include "gguf/split_name.h"
#include "pull/download.h"
#include "pull/library.h"

namespace aster::pull {
namespace {

// A part of a split model names all of them.
Result<std::vector<RemoteFile>> FilesOf(const UrlSource& source) {
  const std::string name = TRY(FileNameOf(source));
  const auto split = gguf::ParseSplitPath(name);
  if (!split) return std::vector{RemoteFile{.url = source.url, .name = name}};
  const size_t at = source.url.rfind(name);
  if (at == source.url.npos) {
    return InvalidArgument(
        fmt::format("{}: the parts of a split model need plain names in the address", name));
  }
  std::vector<RemoteFile> files;
  for (uint32_t i = 0; i < split->count; ++i) {
    std::string part = gguf::SplitPath(split->prefix, i, split->count);
    std::string url = source.url;
    url.replace(at, name.size(), part);
    files.push_back({.url = std::move(url), .name = std::move(part)});
  }
  return files;
}

Result<std::vector<RemoteFile>> FilesOf(HttpClient& http, const Hub& hub, const Source& source) {
  if (const auto* url = std::get_if<UrlSource>(&source)) return FilesOf(*url);
  return ListFiles(http, hub, std::get<HubSource>(source));
}

// Whether a file with the known size is there; it was checked when it was downloaded.
bool IsHere(const RemoteFile& file, const std::string& path) {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  return !error && (!file.size_bytes || size == *file.size_bytes);
}

// The hub's token is for the hub.
std::string BearerFor(const Hub& hub, const std::string& url) {
  return url.starts_with(hub.address + "/") ? hub.token : "";
}

// A file that is not a model must not keep its name: the next pull would take it for one.
Status CheckModel(const std::string& path) {
  const auto file = gguf::File::Open(path);
  if (file.ok()) return Ok();
  std::error_code error;
  std::filesystem::remove(path, error);
  return file.error();
}

Result<Pulled> PullInto(HttpClient& http, const Source& source,
                        const std::vector<RemoteFile>& files, Clock& clock,
                        const PullOptions& options) {
  Pulled pulled{.paths = {}, .size_bytes = 0, .was_here = true};
  for (const RemoteFile& file : files) {
    const std::string path = options.folder + "/" + file.name;
    pulled.paths.push_back(path);
    if (IsHere(file, path)) continue;
    pulled.was_here = false;
    DownloadOptions download{.bearer = BearerFor(options.hub, file.url),
                             .on_note = options.on_note};
    if (options.on_progress) {
      download.on_progress = [&](uint64_t done, uint64_t total) {
        options.on_progress(file, done, total);
      };
    }
    TRY(Download(http, file, path, clock, download));
    TRY(CheckModel(path));
    TRY(WriteSource(path, ToText(source)));
  }
  // The parts must make one model.
  const gguf::ModelFiles model = TRY(gguf::ModelFiles::Open(pulled.paths));
  for (const gguf::File& file : model.files()) pulled.size_bytes += file.size_bytes();
  return pulled;
}

}  // namespace

Result<Pulled> Pull(HttpClient& http, const Source& source, Clock& clock,
                    const PullOptions& options) {
  const std::vector<RemoteFile> files = TRY(FilesOf(http, options.hub, source));
  std::error_code error;
  const bool was_there = std::filesystem::exists(options.folder, error);
  TRY(MakeDirectories(options.folder));
  Result<Pulled> pulled = PullInto(http, source, files, clock, options);
  // Only if it is empty.
  if (!pulled.ok() && !was_there) std::filesystem::remove(options.folder, error);
  return pulled;
}

}  // namespace aster::pull
