// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/http_parser.h"

#include <algorithm>
#include <charconv>

namespace aster::serve {
namespace {

// Chunk sizes and trailers are short.
constexpr size_t kMaxChunkLine = 1024;
constexpr size_t kMaxMethodBytes = 16;

bool IsTokenChar(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kOthers.find(c) != std::string_view::npos;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, IsTokenChar);
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string_view TrimSpace(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// A whole number; the text must be nothing else.
bool ParseSize(std::string_view text, int base, size_t& size) {
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, size, base);
  return result.ec == std::errc() && result.ptr == end && text.front() != '-';
}

}  // namespace

std::string_view ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Error";
  }
}

std::string_view HttpRequest::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return "";
}

void HttpParser::Bad(int status, std::string problem) {
  if (state_ == State::kBad) return;
  state_ = State::kBad;
  bad_status_ = status;
  problem_ = std::move(problem);
}

size_t HttpParser::Feed(std::string_view bytes) {
  size_t taken = 0;
  while (taken < bytes.size() && (state_ == State::kHead || state_ == State::kBody)) {
    if (part_ == Part::kBytes) {
      taken += TakeBytes(bytes.substr(taken));
      continue;
    }
    const bool in_head = state_ == State::kHead;
    const size_t limit = in_head ? limits_.head_bytes : kMaxChunkLine;
    const char c = bytes[taken++];
    // A line ends with \r\n; a bare \n is accepted, a bare \r never.
    if (++head_bytes_ > limit) {
      Bad(in_head ? 431 : 400,
          in_head ? "the request's head is too large" : "a chunk's head is too large");
    } else if (c != '\n') {
      line_ += c;
    } else {
      if (line_.ends_with('\r')) line_.pop_back();
      TakeLine();
    }
  }
  return taken;
}

void HttpParser::TakeLine() {
  const std::string line = std::exchange(line_, "");
  // As bytes: a char is signed on some processors and unsigned on others.
  if (std::ranges::any_of(line,
                          [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; })) {
    return Bad(400, "a control character in the request's head");
  }
  switch (part_) {
    case Part::kRequestLine:
      // Some clients send an empty line before a request: it begins nothing.
      if (!line.empty()) return TakeRequestLine(line);
      head_bytes_ = 0;
      return;
    case Part::kHeaderLine:
      return line.empty() ? EndHead() : TakeHeaderLine(line);
    case Part::kChunkSize:
      return TakeChunkSize(line);
    case Part::kChunkEnd:
      if (!line.empty()) return Bad(400, "a chunk is longer than its size says");
      part_ = Part::kChunkSize;
      head_bytes_ = 0;
      return;
    case Part::kTrailer:
      if (line.empty()) state_ = State::kDone;
      return;
    case Part::kBytes:
      return;
  }
}

void HttpParser::TakeRequestLine(std::string_view line) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return Bad(400, "no HTTP request");
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!IsToken(method) || method.size() > kMaxMethodBytes ||
      target.find(' ') != std::string_view::npos) {
    return Bad(400, "no HTTP request");
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return Bad(version.starts_with("HTTP/") ? 505 : 400, "speak HTTP/1.1");
  }
  std::string_view path = target;
  // An absolute URL, as proxies get it.
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (path.starts_with(scheme)) {
      const size_t slash = path.find('/', scheme.size());
      path = slash == std::string_view::npos ? "/" : path.substr(slash);
    }
  }
  if (!path.starts_with('/') && path != "*") return Bad(400, "the request names no path");
  const size_t question = std::min(path.find('?'), path.size());
  request_.method = method;
  request_.path = path.substr(0, question);
  if (question < path.size()) request_.query = path.substr(question + 1);
  request_.takes_chunks = version == "HTTP/1.1";
  request_.keep_alive = request_.takes_chunks;
  part_ = Part::kHeaderLine;
}

void HttpParser::TakeHeaderLine(std::string_view line) {
  const size_t colon = line.find(':');
  // A line that begins with a space would continue the one before.
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) {
    return Bad(400, "a malformed header line");
  }
  if (request_.headers.size() == limits_.headers) return Bad(431, "too many headers");
  const std::string name = Lower(line.substr(0, colon));
  const std::string_view value = TrimSpace(line.substr(colon + 1));
  if (name == "content-length") {
    size_t size = 0;
    if (value.empty() || !ParseSize(value, 10, size))
      return Bad(400, "Content-Length is no number");
    if (has_length_ && size != body_left_) return Bad(400, "the body has two different lengths");
    has_length_ = true;
    body_left_ = size;
  } else if (name == "transfer-encoding") {
    if (is_chunked_ || Lower(value) != "chunked")
      return Bad(501, "the only supported transfer encoding is chunked");
    is_chunked_ = true;
  } else if (name == "connection") {
    const std::string words = Lower(value);
    if (words.find("close") != std::string::npos) request_.keep_alive = false;
    if (words.find("keep-alive") != std::string::npos) request_.keep_alive = true;
  } else if (name == "expect") {
    if (Lower(value) != "100-continue")
      return Bad(417, "the only supported expectation is 100-continue");
    expects_word_ = true;
  }
  request_.headers.emplace_back(name, value);
}

void HttpParser::EndHead() {
  if (is_chunked_ && has_length_) return Bad(400, "a body with a length and in chunks");
  if (body_left_ > limits_.body_bytes) return Bad(413, "the body is too large");
  head_bytes_ = 0;
  state_ = State::kBody;
  part_ = is_chunked_ ? Part::kChunkSize : Part::kBytes;
  if (!is_chunked_ && body_left_ == 0) state_ = State::kDone;
}

void HttpParser::TakeChunkSize(std::string_view line) {
  const std::string_view size = TrimSpace(line.substr(0, line.find(';')));
  if (size.empty() || !ParseSize(size, 16, body_left_)) return Bad(400, "a chunk without a size");
  if (body_left_ > limits_.body_bytes - request_.body.size())
    return Bad(413, "the body is too large");
  head_bytes_ = 0;
  part_ = body_left_ == 0 ? Part::kTrailer : Part::kBytes;
}

size_t HttpParser::TakeBytes(std::string_view bytes) {
  const size_t count = std::min(bytes.size(), body_left_);
  request_.body.append(bytes.substr(0, count));
  body_left_ -= count;
  if (body_left_ == 0) {
    if (is_chunked_) {
      part_ = Part::kChunkEnd;
    } else {
      state_ = State::kDone;
    }
  }
  return count;
}

bool HttpParser::TakeExpectation() {
  return state_ == State::kBody && std::exchange(expects_word_, false);
}

HttpRequest HttpParser::Take() {
  HttpRequest request = std::move(request_);
  request_ = HttpRequest();
  state_ = State::kHead;
  part_ = Part::kRequestLine;
  head_bytes_ = 0;
  body_left_ = 0;
  is_chunked_ = false;
  has_length_ = false;
  expects_word_ = false;
  line_.clear();
  return request;
}

}  // namespace aster::serve
