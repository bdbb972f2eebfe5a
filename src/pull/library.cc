// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "pull/library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/ascii.h"
#include "base/files.h"
#include "gguf/fingerprint_cache.h"
#include "gguf/split_name.h"

namespace aster::pull {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModelEnding = ".gguf";
constexpr std::string_view kPartEnding = ".part";
constexpr std::string_view kSourceEnding = ".source";
constexpr size_t kMaxSourceBytes = 4096;

// The model that a file is, or is a part of.
std::string ModelNameOf(std::string_view file) {
  if (const auto split = gguf::ParseSplitPath(file)) return split->prefix;
  return std::string(file.substr(0, file.size() - kModelEnding.size()));
}

void AddFile(const fs::directory_entry& entry, std::map<std::string, LibraryModel>& models) {
  std::string file = entry.path().filename().string();
  const bool is_partial = file.ends_with(kPartEnding);
  if (is_partial) file.resize(file.size() - kPartEnding.size());
  if (!file.ends_with(kModelEnding)) return;
  std::error_code error;
  const uint64_t size = entry.file_size(error);
  if (error) return;
  LibraryModel& model = models[ModelNameOf(file)];
  model.paths.push_back(entry.path().string());
  model.size_bytes += size;
  model.is_partial = model.is_partial || is_partial;
}

void Complete(const std::string& name, LibraryModel& model) {
  model.name = name;
  std::ranges::sort(model.paths);
  const auto split = gguf::ParseSplitPath(model.paths.front());
  if (split && split->count != model.paths.size()) model.is_partial = true;
  auto source = ReadFile(model.paths.front() + std::string(kSourceEnding), kMaxSourceBytes);
  if (source.ok()) model.source = std::move(*source);
  while (!model.source.empty() && model.source.back() == '\n') model.source.pop_back();
}

bool IsCalled(const LibraryModel& model, const std::string& wanted) {
  if (wanted == AsciiLower(model.name) || wanted == AsciiLower(model.source)) return true;
  return std::ranges::any_of(model.paths, [&](const std::string& path) {
    return AsciiLower(fs::path(path).filename().string()) == wanted;
  });
}

}  // namespace

Result<std::string> LibraryFolder() { return TRY(DataDirectory()) + "/models"; }

std::vector<LibraryModel> ListLibrary(const std::string& folder) {
  std::map<std::string, LibraryModel> models;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    AddFile(*entry, models);
  }
  std::vector<LibraryModel> list;
  for (auto& [name, model] : models) {
    Complete(name, model);
    list.push_back(std::move(model));
  }
  return list;
}

Result<LibraryModel> FindInLibrary(const std::string& folder, std::string_view name) {
  const std::string wanted = AsciiLower(name);
  std::vector<std::string> names;
  for (LibraryModel& model : ListLibrary(folder)) {
    if (!model.is_partial && IsCalled(model, wanted)) return std::move(model);
    names.push_back(model.name);
  }
  if (names.empty())
    return NotFound(fmt::format("{}: no model was pulled to this machine yet", name));
  return NotFound(fmt::format("{}: no model of that name was pulled; there are: {}", name,
                              fmt::join(names, ", ")));
}

Status RemoveFromLibrary(const LibraryModel& model) {
  for (const std::string& path : model.paths) {
    std::error_code error;
    fs::remove(path, error);
    if (error) return SystemError(error.value(), path);
    // Companion files, if any.
    for (const char* const ending : {".source", ".tag", ".fingerprint"})
      fs::remove(path + ending, error);
  }
  return Ok();
}

Status WriteSource(const std::string& path, const std::string& source) {
  return WriteFileAtomically(path + std::string(kSourceEnding), AsBytes(source + "\n"));
}

}  // namespace aster::pull
