// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "pull/hub.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "base/files.h"
#include "gguf/split_name.h"

namespace aster::pull {
namespace {

using nlohmann::json;

constexpr size_t kMaxListBytes = 16 << 20;
constexpr size_t kMaxPages = 64;
constexpr size_t kMaxTokenBytes = 4096;
// The default choice: small, and close to the original.
constexpr std::string_view kPreferred[] = {"Q4_K_M", "Q4_K_S", "Q4_0", "MXFP4", "Q5_K_M", "Q8_0"};

std::string_view NameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Files that are not a language model by themselves.
bool IsCompanion(std::string_view path) {
  const std::string name = AsciiLower(NameOf(path));
  return name.find("mmproj") != name.npos || name.find("imatrix") != name.npos;
}

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// Whether the name has the word between other signs: Q4_K in a-Q4_K-b, not in Q4_K_M. Ignores case,
// as published files do.
bool HasWord(std::string_view path, std::string_view word) {
  const std::string name = AsciiLower(path);
  const std::string wanted = AsciiLower(word);
  for (size_t at = name.find(wanted); at != name.npos; at = name.find(wanted, at + 1)) {
    const size_t end = at + wanted.size();
    const bool begins = at == 0 || !IsLetterOrDigit(name[at - 1]);
    if (begins && (end == name.size() || !IsLetterOrDigit(name[end]))) return true;
  }
  return false;
}

// Paths by model, with all parts of a split one.
using Models = std::map<std::string, std::vector<std::string>>;

Models ModelsOf(std::span<const std::string> paths) {
  Models models;
  for (const std::string& path : paths) {
    if (!path.ends_with(".gguf") || IsCompanion(path)) continue;
    const auto split = gguf::ParseSplitPath(path);
    models[split ? split->prefix : path].push_back(path);
  }
  for (auto& [name, parts] : models) std::ranges::sort(parts);
  return models;
}

Status CheckParts(const std::string& name, const std::vector<std::string>& parts) {
  const auto first = gguf::ParseSplitPath(parts.front());
  if (!first || first->count == parts.size()) return Ok();
  return FailedPrecondition(
      fmt::format("{}: the repository has {} of its {} parts", name, parts.size(), first->count));
}

std::string Choices(const Models& models) {
  std::vector<std::string_view> names;
  for (const auto& [name, parts] : models) names.push_back(NameOf(name));
  return fmt::format("{}", fmt::join(names, ", "));
}

Models Matching(const Models& models, std::string_view selector) {
  Models found;
  for (const auto& [name, parts] : models) {
    const bool is_named = name == selector || NameOf(name) == selector ||
                          std::ranges::find(parts, selector) != parts.end();
    if (is_named || HasWord(name, selector)) found.emplace(name, parts);
  }
  return found;
}

// If one has exactly this name, others that contain the word are not meant.
Models Narrow(Models found, std::string_view selector) {
  for (const auto& [name, parts] : found) {
    if (name == selector || NameOf(name) == selector) return {{name, parts}};
  }
  return found;
}

Models MatchingPreferred(const Models& models) {
  if (models.size() == 1) return models;
  for (const std::string_view wanted : kPreferred) {
    if (Models found = Matching(models, wanted); found.size() == 1) return found;
  }
  return {};
}

struct Listed {
  std::string path;
  std::optional<uint64_t> size_bytes;
  std::string sha256;
};

bool IsSha256(std::string_view text) {
  return text.size() == 64 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// An entry of the hub's list; nullopt if it is not a usable file.
std::optional<Listed> ReadEntry(const json& entry) {
  if (!entry.is_object() || entry.value("type", json()) != json("file")) return std::nullopt;
  const auto path = entry.find("path");
  if (path == entry.end() || !path->is_string()) return std::nullopt;
  Listed listed{.path = path->get<std::string>(), .size_bytes = {}, .sha256 = {}};
  const auto& size = entry.find("size");
  if (size != entry.end() && size->is_number_unsigned()) listed.size_bytes = size->get<uint64_t>();
  const auto lfs = entry.find("lfs");
  if (lfs != entry.end() && lfs->is_object()) {
    const auto oid = lfs->find("oid");
    if (oid != lfs->end() && oid->is_string()) {
      std::string_view digest = oid->get_ref<const std::string&>();
      if (digest.starts_with("sha256:")) digest.remove_prefix(7);
      if (IsSha256(digest)) listed.sha256 = digest;
    }
  }
  return listed;
}

Status CheckListStatus(const HttpHead& head, const HubSource& source) {
  const std::string name = ToText(source);
  switch (head.status) {
    case 200:
      return Ok();
    case 401:
    case 403:
      return Error(Code::kPermissionDenied,
                   fmt::format("{}: the hub wants a token that may read it (status {}): accept the "
                               "model's terms on its "
                               "page, then give the token in HF_TOKEN or with --token-file",
                               name, head.status));
    case 404:
      return NotFound(fmt::format("{}: the hub has no such repository or revision", name));
    default:
      return Error(
          Code::kUnavailable,
          fmt::format("{}: the hub answers with status {}; try again later", name, head.status));
  }
}

Status ReadPage(HttpClient& http, const Hub& hub, const HubSource& source, std::string& url,
                std::vector<Listed>& files) {
  std::string body;
  const HttpHead head = TRY(http.Get(
      {.url = url, .bearer = hub.token},
      [&](const HttpHead& begun) { return CheckListStatus(begun, source); },
      [&](Bytes piece) -> Status {
        if (body.size() + piece.size() > kMaxListBytes)
          return DataLoss("the hub's list has more than 16 MiB");
        body.append(AsText(piece));
        return Ok();
      }));
  const json list = json::parse(body, nullptr, false);
  if (!list.is_array())
    return DataLoss(fmt::format("{}: the hub's list of files is no JSON array", ToText(source)));
  for (const json& entry : list) {
    if (auto file = ReadEntry(entry)) files.push_back(std::move(*file));
  }
  url = head.next_url;
  return Ok();
}

}  // namespace

Result<Hub> Hub::FromEnvironment(const std::string& token_path) {
  const auto variable = [](const char* name) -> std::string {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  Hub hub;
  for (const char* const name : {"HF_ENDPOINT", "ASTER_HUB"}) {
    if (std::string address = variable(name); !address.empty()) hub.address = std::move(address);
  }
  while (hub.address.ends_with('/')) hub.address.pop_back();
  const std::string path = token_path.empty() ? variable("HF_TOKEN_PATH") : token_path;
  hub.token = token_path.empty() ? variable("HF_TOKEN") : "";
  if (hub.token.empty() && !path.empty()) hub.token = TRY(ReadFile(path, kMaxTokenBytes));
  while (!hub.token.empty() && hub.token.back() <= ' ') hub.token.pop_back();
  if (!std::ranges::all_of(hub.token, [](char c) { return c > ' ' && c < 0x7f; })) {
    return InvalidArgument(
        "the token for the hub has spaces or other signs within; give it as the hub shows it");
  }
  return hub;
}

Result<std::vector<std::string>> Choose(std::span<const std::string> paths,
                                        std::string_view selector) {
  const Models models = ModelsOf(paths);
  if (models.empty())
    return NotFound("the repository has no .gguf file; look for one whose name ends with -GGUF");
  const Models found =
      selector.empty() ? MatchingPreferred(models) : Narrow(Matching(models, selector), selector);
  if (found.size() == 1) {
    TRY(CheckParts(found.begin()->first, found.begin()->second));
    return found.begin()->second;
  }
  if (found.empty() && !selector.empty()) {
    return NotFound(
        fmt::format("nothing there is called {}; there are: {}", selector, Choices(models)));
  }
  return InvalidArgument(fmt::format("several files match; give one of these behind a colon: {}",
                                     Choices(found.empty() ? models : found)));
}

Result<std::vector<RemoteFile>> ListFiles(HttpClient& http, const Hub& hub,
                                          const HubSource& source) {
  std::vector<Listed> listed;
  std::string url = fmt::format("{}/api/models/{}/tree/{}?recursive=true", hub.address,
                                source.repository, source.revision);
  for (size_t page = 0; !url.empty(); ++page) {
    if (page == kMaxPages)
      return DataLoss(fmt::format("{}: the hub's list has no end", ToText(source)));
    // The token is for the hub: its list must not lead to another host.
    if (!url.starts_with(hub.address + "/"))
      return DataLoss(fmt::format("{}: the hub's list goes on at another server", ToText(source)));
    TRY(ReadPage(http, hub, source, url, listed));
  }
  std::vector<std::string> paths;
  for (const Listed& file : listed) paths.push_back(file.path);
  std::vector<RemoteFile> files;
  for (const std::string& path : TRY(Choose(paths, source.selector).In(ToText(source)))) {
    const auto& found = *std::ranges::find(listed, path, &Listed::path);
    files.push_back({.url = fmt::format("{}/{}/resolve/{}/{}", hub.address, source.repository,
                                        source.revision, path),
                     .name = std::string(NameOf(path)),
                     .size_bytes = found.size_bytes,
                     .sha256 = found.sha256});
  }
  return files;
}

}  // namespace aster::pull
