// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "pull/http.h"

namespace aster::pull {
namespace {

constexpr long kConnectSeconds = 20;
// A transfer without a byte for this long has stalled.
constexpr long kStallSeconds = 30;
constexpr long kMaxRedirects = 10;
// For all heads of a reply together; no server needs nearly that much.
constexpr size_t kMaxHeadBytes = 256 << 10;

std::string_view Trim(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "bytes 100-199/200", "bytes */200"
void ReadContentRange(std::string_view value, HttpHead& head) {
  if (!value.starts_with("bytes ")) return;
  value = Trim(value.substr(6));
  const size_t slash = value.find('/');
  if (slash == value.npos) return;
  head.total = ParseNumber<uint64_t>(value.substr(slash + 1));
  head.range_begin = ParseNumber<uint64_t>(value.substr(0, value.find('-')));
}

// <https://…>; rel="next"
std::string NextOfLink(std::string_view value) {
  const size_t begin = value.find('<');
  const size_t end = value.find('>', begin);
  if (begin == value.npos || end == value.npos || value.find("rel=\"next\"", end) == value.npos)
    return "";
  return std::string(value.substr(begin + 1, end - begin - 1));
}

void ReadHeader(std::string_view line, HttpHead& head) {
  const size_t colon = line.find(':');
  if (colon == line.npos) return;
  const std::string name = AsciiLower(line.substr(0, colon));
  const std::string_view value = Trim(line.substr(colon + 1));
  if (name == "content-length") head.length = ParseNumber<uint64_t>(value);
  if (name == "content-range") ReadContentRange(value, head);
  // If-Range needs strong tags: a weak tag does not guarantee equal bytes. Without one it takes the
  // date of the last change.
  if (name == "etag" && !value.starts_with("W/")) head.tag = value;
  if (name == "last-modified" && head.tag.empty()) head.tag = value;
  if (name == "retry-after") head.retry_after_s = ParseNumber<uint32_t>(value);
  if (name == "link") head.next_url = NextOfLink(value);
}

class CurlClient final : public HttpClient {
 public:
  explicit CurlClient(std::function<bool()> is_cancelled)
      : is_cancelled_(std::move(is_cancelled)), curl_(curl_easy_init()) {}
  ~CurlClient() override { curl_easy_cleanup(curl_); }
  CurlClient(const CurlClient&) = delete;
  CurlClient& operator=(const CurlClient&) = delete;

  Result<HttpHead> Get(const HttpRequest& request, FunctionRef<Status(const HttpHead&)> take_head,
                       FunctionRef<Status(Bytes)> take_body) override {
    if (curl_ == nullptr) return ResourceExhausted("there is no memory for a connection");
    Transfer transfer{.client = this, .take_head = take_head, .take_body = take_body};
    Prepare(request, transfer);
    const CURLcode code = curl_easy_perform(curl_);
    curl_slist_free_all(transfer.headers);
    TRY(std::move(transfer.status));
    if (code == CURLE_ABORTED_BY_CALLBACK)
      return Error(Code::kCancelled, "the download was cancelled");
    if (code != CURLE_OK) return WhyFailed(code);
    // A reply without a body also has a head.
    if (!transfer.has_begun) TRY(take_head(transfer.head));
    return std::move(transfer.head);
  }

 private:
  struct Transfer {
    CurlClient* client;
    FunctionRef<Status(const HttpHead&)> take_head;
    FunctionRef<Status(Bytes)> take_body;
    HttpHead head = {};
    size_t head_bytes = 0;
    bool has_begun = false;  // the body
    Status status = Ok();
    curl_slist* headers = nullptr;
  };

  void Prepare(const HttpRequest& request, Transfer& transfer) {
    curl_easy_reset(curl_);
    Set(CURLOPT_URL, request.url.c_str());
    Set(CURLOPT_ERRORBUFFER, message_);
    message_[0] = 0;
    Set(CURLOPT_NOSIGNAL, 1L);
    Set(CURLOPT_USERAGENT, "asterism");
    Set(CURLOPT_FOLLOWLOCATION, 1L);
    Set(CURLOPT_MAXREDIRS, kMaxRedirects);
    Set(CURLOPT_PROTOCOLS_STR, "http,https");
    Set(CURLOPT_REDIR_PROTOCOLS_STR, request.url.starts_with("https:") ? "https" : "http,https");
    Set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    Set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    Set(CURLOPT_LOW_SPEED_TIME, kStallSeconds);
    if (!request.bearer.empty()) {
      // As a credential instead of a header line: curl does not send it to other hosts.
      Set(CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
      Set(CURLOPT_XOAUTH2_BEARER, request.bearer.c_str());
    }
    if (request.begin > 0) {
      transfer.headers = curl_slist_append(transfer.headers,
                                           fmt::format("Range: bytes={}-", request.begin).c_str());
      if (!request.if_range.empty()) {
        transfer.headers =
            curl_slist_append(transfer.headers, ("If-Range: " + request.if_range).c_str());
      }
      Set(CURLOPT_HTTPHEADER, transfer.headers);
    }
    Set(CURLOPT_HEADERFUNCTION, &OnHeader);
    Set(CURLOPT_HEADERDATA, &transfer);
    Set(CURLOPT_WRITEFUNCTION, &OnBody);
    Set(CURLOPT_WRITEDATA, &transfer);
    Set(CURLOPT_NOPROGRESS, 0L);
    Set(CURLOPT_XFERINFOFUNCTION, &OnProgress);
    Set(CURLOPT_XFERINFODATA, this);
  }

  template <typename T>
  void Set(CURLoption option, T value) {
    curl_easy_setopt(curl_, option, value);
  }

  static size_t OnHeader(char* data, size_t, size_t size, void* user) {
    auto& transfer = *static_cast<Transfer*>(user);
    const std::string_view line(data, size);
    transfer.head_bytes += size;
    if (transfer.head_bytes > kMaxHeadBytes) {
      transfer.status = DataLoss("the server's reply has a head of more than 256 KiB");
      return 0;
    }
    // Each reply on the way has a head of its own.
    if (line.starts_with("HTTP/")) {
      transfer.head = {};
      const size_t space = line.find(' ');
      if (space != line.npos)
        transfer.head.status = ParseNumber<int>(line.substr(space + 1, 3)).value_or(0);
    } else {
      ReadHeader(line, transfer.head);
    }
    return size;
  }

  static size_t OnBody(char* data, size_t, size_t size, void* user) {
    auto& transfer = *static_cast<Transfer*>(user);
    if (!transfer.has_begun) {
      transfer.has_begun = true;
      transfer.status = transfer.take_head(transfer.head);
    }
    if (transfer.status.ok())
      transfer.status = transfer.take_body({reinterpret_cast<const uint8_t*>(data), size});
    // Any other number than the size ends the transfer.
    return transfer.status.ok() ? size : size + 1;
  }

  static int OnProgress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    const auto& client = *static_cast<CurlClient*>(user);
    return client.is_cancelled_ && client.is_cancelled_() ? 1 : 0;
  }

  Error WhyFailed(CURLcode code) const {
    std::string why = message_[0] != 0 ? message_ : curl_easy_strerror(code);
    switch (code) {
      case CURLE_UNSUPPORTED_PROTOCOL:
      case CURLE_URL_MALFORMAT:
        return InvalidArgument(std::move(why));
      case CURLE_TOO_MANY_REDIRECTS:
        return FailedPrecondition("the server redirects in a circle: " + why);
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_CACERT_BADFILE:
        return Error(Code::kUnauthenticated, "the server's certificate cannot be verified: " + why);
      default:
        return Error(Code::kUnavailable, std::move(why));
    }
  }

  const std::function<bool()> is_cancelled_;
  CURL* const curl_;
  char message_[CURL_ERROR_SIZE] = {};
};

}  // namespace

std::unique_ptr<HttpClient> MakeHttpClient(std::function<bool()> is_cancelled) {
  return std::make_unique<CurlClient>(std::move(is_cancelled));
}

}  // namespace aster::pull
