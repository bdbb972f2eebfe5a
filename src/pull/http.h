// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One HTTP request for a file or a list: the interface that downloads need of a client, so that
// tests can replace it. Must not know models.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/result.h"

namespace aster::pull {

struct HttpRequest {
  std::string url;
  std::string bearer = "";    // a token for the url's own host; empty: none. Never in an error.
  uint64_t begin = 0;         // the first wanted byte
  std::string if_range = "";  // with begin: only if the tag is still this; else the whole file
};

// The head of a reply, after redirects.
struct HttpHead {
  int status = 0;
  std::optional<uint64_t> length;       // of the body
  std::optional<uint64_t> range_begin;  // of a 206
  std::optional<uint64_t> total;        // of the whole file, if a 206 or 416 has it
  std::string tag;  // for If-Range: a strong ETag, with its quotes, else Last-Modified, else empty
  std::optional<uint32_t> retry_after_s;
  std::string next_url;  // for a list in pages: the next one
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;

  // Passes on the head, then the body piece by piece; an error of either callback ends the transfer
  // and is returned. Unavailable if the connection fails, breaks or stalls: worth trying again.
  virtual Result<HttpHead> Get(const HttpRequest& request,
                               FunctionRef<Status(const HttpHead&)> take_head,
                               FunctionRef<Status(Bytes)> take_body) = 0;
};

// A client with libcurl: follows redirects without sending the token to another host or from https
// to http, uses the proxies of the environment. A transfer ends when is_cancelled returns true.
std::unique_ptr<HttpClient> MakeHttpClient(std::function<bool()> is_cancelled);

}  // namespace aster::pull
