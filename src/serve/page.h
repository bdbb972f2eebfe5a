// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The web page of the server: the files of web/dist, which are built into the program. Must not
// know what the page shows, nor which requests it sends.
#pragma once

#include <span>
#include <string_view>

#include "serve/http_parser.h"
#include "serve/reply_stream.h"

namespace aster::serve {

struct PageFile {
  std::string_view path;  // of the request: "/", "/page.js"
  std::string_view content_type;
  std::string_view tag;  // of its content, without quotes
  std::string_view bytes;
  std::string_view gzip;  // the same bytes, compressed
};

// All files, in the order of their paths. cmake/page.cmake makes the source.
std::span<const PageFile> PageFiles();

// Null if the page has no such file.
const PageFile* FindPageFile(std::string_view path);

// Sends the whole file, compressed if the client accepts that, or 304 if it has the same bytes
// already. Returns the status.
int SendPageFile(const PageFile& file, const HttpRequest& request, ReplyStream& stream);

}  // namespace aster::serve
