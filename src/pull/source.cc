// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "pull/source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/percent.h"

namespace aster::pull {
namespace {

constexpr std::string_view kHub = "hf:";
constexpr std::string_view kForms =
    "give hf:ORG/REPO, hf:ORG/REPO:Q4_K_M, hf:ORG/REPO:FILE.gguf, or an address that begins with "
    "https:// or http://";

bool IsUrl(std::string_view text) {
  return text.starts_with("http://") || text.starts_with("https://");
}

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

// A path component other than "." and "..".
bool IsName(std::string_view text) {
  return !text.empty() && text != "." && text != ".." && text.size() <= 255 &&
         std::ranges::all_of(text, IsNameCharacter);
}

bool IsRepository(std::string_view text) {
  const size_t slash = text.find('/');
  return slash != text.npos && IsName(text.substr(0, slash)) && IsName(text.substr(slash + 1));
}

// Names with slashes between.
bool IsPath(std::string_view text) {
  while (true) {
    const size_t slash = text.find('/');
    if (!IsName(text.substr(0, slash))) return false;
    if (slash == text.npos) return true;
    text.remove_prefix(slash + 1);
  }
}

Result<Source> ParseHub(std::string_view text) {
  HubSource source;
  std::string_view rest = text.substr(kHub.size());
  if (const size_t colon = rest.find(':'); colon != rest.npos) {
    source.selector = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (!IsPath(source.selector)) {
      return InvalidArgument(
          fmt::format("{}: no file or quantisation behind the colon: {}", text, kForms));
    }
  }
  if (const size_t at = rest.find('@'); at != rest.npos) {
    source.revision = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (!IsPath(source.revision)) {
      return InvalidArgument(fmt::format("{}: no revision behind the @: {}", text, kForms));
    }
  }
  if (!IsRepository(rest)) {
    return InvalidArgument(fmt::format("{}: not a repository of a hub: {}", text, kForms));
  }
  source.repository = rest;
  return source;
}

// The offset of the host, after "https://".
size_t HostBegin(std::string_view url) { return url.find("://") + 3; }

std::string_view PathOf(std::string_view url) {
  const size_t slash = url.find('/', HostBegin(url));
  if (slash == url.npos) return "";
  const size_t end = url.find_first_of("?#", slash);
  return url.substr(slash, end == url.npos ? url.npos : end - slash);
}

std::string WithoutPassword(std::string_view url) {
  const size_t begin = HostBegin(url);
  const size_t at = url.substr(0, url.find('/', begin)).rfind('@');
  if (at == url.npos || at < begin) return std::string(url);
  return fmt::format("{}{}", url.substr(0, begin), url.substr(at + 1));
}

}  // namespace

bool LooksLikeSource(std::string_view text) { return text.starts_with(kHub) || IsUrl(text); }

Result<Source> ParseSource(std::string_view text) {
  if (text.starts_with(kHub)) return ParseHub(text);
  if (!IsUrl(text))
    return InvalidArgument(fmt::format("{}: not a model to pull: {}", text, kForms));
  const bool is_plain = std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
  const size_t begin = HostBegin(text);
  if (!is_plain || begin >= text.size() || text[begin] == '/') {
    return InvalidArgument(fmt::format("{}: not a complete address: {}", text, kForms));
  }
  return UrlSource{std::string(text)};
}

std::string ToText(const Source& source) {
  if (const auto* url = std::get_if<UrlSource>(&source)) return WithoutPassword(url->url);
  const HubSource& hub = std::get<HubSource>(source);
  std::string text = fmt::format("{}{}", kHub, hub.repository);
  if (hub.revision != HubSource().revision) text += "@" + hub.revision;
  if (!hub.selector.empty()) text += ":" + hub.selector;
  return text;
}

Result<std::string> FileNameOf(const UrlSource& source) {
  const std::string_view path = PathOf(source.url);
  const size_t slash = path.rfind('/');
  std::string name = slash == path.npos ? "" : WithoutPercents(path.substr(slash + 1));
  if (!IsName(name) || !name.ends_with(".gguf")) {
    return InvalidArgument(fmt::format(
        "{}: the address does not end with the name of a .gguf file; give the file's own address",
        WithoutPassword(source.url)));
  }
  return name;
}

}  // namespace aster::pull
