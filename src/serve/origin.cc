// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/origin.h"

#include <algorithm>

namespace aster::serve {
namespace {

// Top-level domains that cannot be registered.
constexpr std::string_view kLocalEnds[] = {".localhost", ".local", ".internal", ".home.arpa"};

char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsSame(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, ToLower, ToLower);
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && IsSame(text.substr(text.size() - end.size()), end);
}

// Without the port, and without a trailing dot.
std::string_view NameOf(std::string_view host) {
  host = host.substr(0, host.rfind(':'));
  if (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

// Four numbers with dots. A name cannot look like that: no top-level domain is a number.
bool IsAddressV4(std::string_view name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

}  // namespace

bool IsOfPage(std::string_view origin) {
  return origin.starts_with("http://") || origin.starts_with("https://") || origin == "null";
}

bool IsLoopbackOrigin(std::string_view origin) {
  const size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos) return false;
  const std::string_view from = origin.substr(scheme + 3);
  for (const std::string_view host : {"localhost", "127.0.0.1", "[::1]"}) {
    if (!from.starts_with(host)) continue;
    const std::string_view rest = from.substr(host.size());
    if (rest.empty() || rest.front() == ':') return true;
  }
  return false;
}

bool IsSameOrigin(std::string_view origin, std::string_view host) {
  const size_t scheme = origin.find("://");
  return scheme != std::string_view::npos && !host.empty() &&
         IsSame(origin.substr(scheme + 3), host);
}

bool IsLocalHost(std::string_view host) {
  if (host.starts_with('[')) return true;
  const std::string_view name = NameOf(host);
  if (IsAddressV4(name) || name.find('.') == std::string_view::npos) return true;
  return std::ranges::any_of(kLocalEnds, [&](std::string_view end) { return EndsWith(name, end); });
}

}  // namespace aster::serve
