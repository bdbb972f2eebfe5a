// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/page.h"

#include <fmt/format.h>

#include <algorithm>

namespace aster::serve {
namespace {

// Scripts, styles and requests of this server only; nothing inline, no frames.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

// Whether a list such as "gzip, br;q=0.5" has gzip, and not with a weight of 0.
bool TakesGzip(std::string_view list) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    std::string_view one = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (!one.starts_with("gzip")) continue;
    one.remove_prefix(4);
    const bool is_gzip = one.empty() || one.front() == ' ' || one.front() == ';';
    return is_gzip && (one.find("q=0") == std::string_view::npos ||
                       one.find_first_of("123456789") != std::string_view::npos);
  }
  return false;
}

// The bytes of each encoding have a tag of their own.
std::string TagOf(const PageFile& file, bool is_gzip) {
  return fmt::format("\"{}{}\"", file.tag, is_gzip ? "-gzip" : "");
}

}  // namespace

const PageFile* FindPageFile(std::string_view path) {
  const std::span<const PageFile> files = PageFiles();
  const auto found = std::ranges::find(files, path, &PageFile::path);
  return found == files.end() ? nullptr : &*found;
}

int SendPageFile(const PageFile& file, const HttpRequest& request, ReplyStream& stream) {
  const bool is_gzip = TakesGzip(request.Header("accept-encoding"));
  const std::string tag = TagOf(file, is_gzip);
  HttpHeaders headers = {{"ETag", tag},
                         // Cached, and validated each time: a new program has a new page.
                         {"Cache-Control", "no-cache"},
                         {"Vary", "Accept-Encoding"},
                         {"Content-Security-Policy", kPolicy},
                         {"X-Content-Type-Options", "nosniff"},
                         {"Referrer-Policy", "no-referrer"}};
  if (request.Header("if-none-match").find(tag) != std::string_view::npos) {
    stream.Send(304, file.content_type, "", headers);
    return 304;
  }
  if (is_gzip) headers.emplace_back("Content-Encoding", "gzip");
  stream.Send(200, file.content_type, is_gzip ? file.gzip : file.bytes, headers);
  return 200;
}

}  // namespace aster::serve
