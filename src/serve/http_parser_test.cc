// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/http_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aster::serve {
namespace {

using State = HttpParser::State;

int StatusOf(std::string_view bytes, const HttpLimits& limits = {}) {
  HttpParser parser(limits);
  parser.Feed(bytes);
  return parser.state() == State::kBad ? parser.bad_status() : 0;
}

TEST(HttpParser, ARequestInAnyPieces) {
  const std::string bytes =
      "\r\nPOST /v1/x?a=b HTTP/1.1\r\nHost: here\r\nX-Thing:  a b \r\nContent-Length: "
      "5\r\n\r\nhelloGET";
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    HttpParser parser({});
    size_t taken = 0;
    while (taken < bytes.size() && parser.state() != State::kDone) {
      taken += parser.Feed(std::string_view(bytes).substr(taken, piece));
    }
    ASSERT_EQ(parser.state(), State::kDone);
    EXPECT_EQ(taken, bytes.size() - 3);
    const HttpRequest request = parser.Take();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.path, "/v1/x");
    EXPECT_EQ(request.query, "a=b");
    EXPECT_EQ(request.Header("x-thing"), "a b");
    EXPECT_EQ(request.body, "hello");
    EXPECT_TRUE(request.keep_alive);
    EXPECT_FALSE(parser.has_begun());
  }
}

TEST(HttpParser, Chunks) {
  HttpParser parser({});
  parser.Feed(
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n"
      "A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n");
  ASSERT_EQ(parser.state(), State::kDone);
  EXPECT_EQ(parser.Take().body, "abc0123456789");
}

TEST(HttpParser, WhatTwoCouldReadInTwoWaysIsRefused) {
  EXPECT_EQ(StatusOf("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
            400);
  EXPECT_EQ(StatusOf("POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("POST / HTTP/1.1\r\nContent-Length : 1\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nA: b\rc\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), 501);
  EXPECT_EQ(StatusOf("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"), 400);
  EXPECT_EQ(StatusOf("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n"), 400);
}

TEST(HttpParser, NoRequests) {
  EXPECT_EQ(StatusOf("hello\r\n"), 400);
  EXPECT_EQ(StatusOf("GET /\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/2.0\r\n"), 505);
  EXPECT_EQ(StatusOf("GET nowhere HTTP/1.1\r\n"), 400);
  EXPECT_EQ(StatusOf("G\x01T / HTTP/1.1\r\n"), 400);
}

TEST(HttpParser, Limits) {
  const HttpLimits small = {.head_bytes = 100, .headers = 2, .body_bytes = 10};
  EXPECT_EQ(StatusOf("GET /" + std::string(200, 'x'), small), 431);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\na: b\r\nc: d\r\ne: f\r\n\r\n", small), 431);
  EXPECT_EQ(StatusOf("POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\n", small), 413);
  EXPECT_EQ(StatusOf("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n12345678\r\n3\r\n",
                     small),
            413);
  EXPECT_EQ(
      StatusOf("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", small),
      413);
  EXPECT_EQ(
      StatusOf("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", small),
      400);
}

TEST(HttpParser, EmptyLinesBeginNothing) {
  HttpParser parser({.head_bytes = 100});
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(parser.Feed("\r\n"), 2U);
    EXPECT_FALSE(parser.has_begun());
  }
  parser.Feed("G");
  EXPECT_TRUE(parser.has_begun());
  parser.Feed("ET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(parser.state(), State::kDone);
}

TEST(HttpParser, AClientThatExpects100Continue) {
  HttpParser parser({});
  parser.Feed("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_TRUE(parser.TakeExpectation());
  EXPECT_FALSE(parser.TakeExpectation());
  parser.Feed("ok");
  EXPECT_EQ(parser.state(), State::kDone);
}

}  // namespace
}  // namespace aster::serve
