// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The same bytes give the same requests in any pieces, within the limits.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "serve/http_parser.h"

namespace {

using aster::serve::HttpLimits;
using aster::serve::HttpParser;
using aster::serve::HttpRequest;

constexpr HttpLimits kLimits = {.head_bytes = 512, .headers = 8, .body_bytes = 256};

std::vector<HttpRequest> Requests(std::string_view bytes, size_t piece, int& bad_status) {
  HttpParser parser(kLimits);
  std::vector<HttpRequest> requests;
  while (!bytes.empty() && parser.state() != HttpParser::State::kBad) {
    const size_t taken = parser.Feed(bytes.substr(0, piece));
    CHECK(taken > 0);
    bytes.remove_prefix(taken);
    if (parser.state() == HttpParser::State::kDone) requests.push_back(parser.Take());
  }
  bad_status = parser.bad_status();
  return requests;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  int whole_status = 0;
  int pieces_status = 0;
  const auto whole = Requests(bytes, bytes.size() + 1, whole_status);
  const auto pieces = Requests(bytes, 1 + data[0] % 16, pieces_status);
  CHECK(whole_status == pieces_status);
  CHECK(whole.size() == pieces.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    CHECK(whole[i].path == pieces[i].path);
    CHECK(whole[i].body == pieces[i].body);
    CHECK(whole[i].headers == pieces[i].headers);
    CHECK(whole[i].body.size() <= kLimits.body_bytes);
  }
  return 0;
}
