// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Parses HTTP/1.1 requests from bytes that arrive in pieces from any client. Everything has a
// limit, and ambiguous input is refused. Must not know sockets, nor what requests mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aster::serve {

struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // "/v1/models", as sent, without the query
  std::string query;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  bool keep_alive = true;
  bool takes_chunks = true;  // HTTP/1.1

  // The first header with this name (in lower case), or an empty text.
  std::string_view Header(std::string_view name) const;
};

struct HttpLimits {
  size_t head_bytes = 32 << 10;  // request line and headers together
  size_t headers = 100;
  size_t body_bytes = 16 << 20;
};

// Not for concurrent use.
class HttpParser {
 public:
  enum class State : uint8_t { kHead, kBody, kDone, kBad };

  explicit HttpParser(const HttpLimits& limits) : limits_(limits) {}

  // Parses up to the request's end, and returns the number of bytes used. The rest belongs to the
  // next request.
  size_t Feed(std::string_view bytes);
  State state() const { return state_; }
  // For a bad request: the status of the reply, and the reason.
  int bad_status() const { return bad_status_; }
  const std::string& problem() const { return problem_; }
  // Whether any byte of the request has arrived.
  bool has_begun() const { return state_ != State::kHead || !line_.empty() || head_bytes_ > 0; }
  // Whether the client expects "100 Continue" before it sends the body; true once.
  bool TakeExpectation();

  // The parsed part; the head is complete from kBody on.
  const HttpRequest& request() const { return request_; }

  // The request, once it is done; the parser is ready for the next one.
  HttpRequest Take();

 private:
  enum class Part : uint8_t {
    kRequestLine,
    kHeaderLine,
    kBytes,  // of a body, or of a chunk
    kChunkSize,
    kChunkEnd,  // the line end after a chunk
    kTrailer,
  };

  void Bad(int status, std::string problem);
  void TakeLine();
  void TakeRequestLine(std::string_view line);
  void TakeHeaderLine(std::string_view line);
  void EndHead();
  void TakeChunkSize(std::string_view line);
  size_t TakeBytes(std::string_view bytes);

  const HttpLimits limits_;
  State state_ = State::kHead;
  Part part_ = Part::kRequestLine;
  int bad_status_ = 0;
  std::string problem_;
  HttpRequest request_;
  std::string line_;
  size_t head_bytes_ = 0;
  size_t body_left_ = 0;  // of the body, or of the chunk
  bool is_chunked_ = false;
  bool has_length_ = false;
  bool expects_word_ = false;
};

// "Not Found" for 404.
std::string_view ReasonOf(int status);

}  // namespace aster::serve
