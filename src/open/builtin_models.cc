// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/builtin_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "pull/library.h"
#include "pull/source.h"

namespace aster::open {
namespace {

constexpr std::string_view kNames[] = {"nova", "pulsar", "comet", "quasar", "nova-dspark"};

bool IsThere(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// The folder of the program's own file; empty if the system does not tell.
std::filesystem::path ProgramFolder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : program.parent_path();
}

Error NotThere(std::string_view what, std::span<const std::string> folders,
               std::string_view advice) {
  return NotFound(
      fmt::format("there is no {} in {}: set ASTER_MODELS to the folder that has it, {}", what,
                  fmt::join(folders, ", "), advice));
}

}  // namespace

std::span<const std::string_view> BuiltinModels() { return kNames; }

std::vector<std::string> ModelFolders() {
  std::vector<std::string> folders;
  if (const char* const folder = std::getenv("ASTER_MODELS"); folder != nullptr && *folder != 0) {
    folders.emplace_back(folder);
  }
  if (const auto program = ProgramFolder(); !program.empty()) {
    folders.push_back((program.parent_path() / "share/asterism/models").string());
  }
  folders.emplace_back(ASTER_SOURCE_MODELS);
  return folders;
}

Result<std::string> FindModelIn(const std::string& name, std::span<const std::string> folders) {
  if (std::ranges::find(kNames, name) == std::end(kNames) || IsThere(name)) return name;
  const std::string file = name + ".gguf";
  for (const std::string& folder : folders) {
    std::string path = folder + "/" + file;
    if (IsThere(path)) return path;
  }
  return NotThere(file, folders, "or give the path of a model file");
}

Result<std::string> FindModel(const std::string& name) {
  std::string path = TRY(FindModelIn(name, ModelFolders()));
  if (path != name || IsThere(path)) return path;
  if (const auto folder = pull::LibraryFolder(); folder.ok()) {
    if (const auto pulled = pull::FindInLibrary(*folder, name); pulled.ok())
      return pulled->paths.front();
  }
  if (!pull::LooksLikeSource(name)) return path;
  return NotFound(
      fmt::format("{}: is not on this machine; download it: aster pull {}", name, name));
}

Result<std::string> FindBesideModelsIn(std::string_view file,
                                       std::span<const std::string> folders) {
  for (const std::string& folder : folders) {
    std::string path = fmt::format("{}/{}", folder, file);
    if (IsThere(path)) return path;
  }
  return NotThere(file, folders, "or give the path of a file of your own");
}

Result<std::string> FindBesideModels(std::string_view file) {
  return FindBesideModelsIn(file, ModelFolders());
}

}  // namespace aster::open
