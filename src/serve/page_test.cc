// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "net/waker.h"

namespace aster::serve {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Reply(const PageFile& file, HttpHeaders headers) {
  net::Waker waker;
  ReplyStream stream({.request_id = "one"}, waker);
  HttpRequest request;
  request.headers = std::move(headers);
  SendPageFile(file, request, stream);
  std::string output;
  stream.TakeOutput(output);
  return output;
}

TEST(Page, HasItsFilesByPath) {
  const PageFile* const page = FindPageFile("/");
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->content_type, "text/html; charset=utf-8");
  EXPECT_THAT(std::string(page->bytes), HasSubstr("<!doctype html>"));
  ASSERT_NE(FindPageFile("/page.js"), nullptr);
  EXPECT_EQ(FindPageFile("/page.js")->content_type, "text/javascript; charset=utf-8");
  EXPECT_EQ(FindPageFile("/index.html"), nullptr);
  EXPECT_EQ(FindPageFile(""), nullptr);
  EXPECT_EQ(FindPageFile("/../page.js"), nullptr);
}

TEST(Page, IsSmallAndHasNothingInline) {
  size_t bytes = 0;
  std::set<std::string_view> tags;
  for (const PageFile& file : PageFiles()) {
    bytes += file.bytes.size();
    tags.insert(file.tag);
    EXPECT_EQ(file.tag.size(), 16u);
    // The first two bytes of every gzip file.
    EXPECT_TRUE(file.gzip.starts_with("\x1f\x8b")) << file.path;
  }
  EXPECT_EQ(tags.size(), PageFiles().size());
  EXPECT_LT(bytes, 160u << 10);
  const std::string html(FindPageFile("/")->bytes);
  EXPECT_THAT(html, Not(HasSubstr("style=")));
  EXPECT_THAT(html, Not(HasSubstr("<style")));
  EXPECT_THAT(html, Not(HasSubstr("<script>")));
  EXPECT_THAT(html, Not(HasSubstr("//")));
}

TEST(Page, EachReplySaysWhatABrowserMayDo) {
  const std::string reply = Reply(*FindPageFile("/"), {});
  EXPECT_THAT(reply, HasSubstr("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"));
  EXPECT_THAT(reply, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self'"));
  EXPECT_THAT(reply, Not(HasSubstr("unsafe")));
  EXPECT_THAT(reply, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(reply, HasSubstr("Referrer-Policy: no-referrer\r\n"));
  EXPECT_THAT(reply, HasSubstr("Cache-Control: no-cache\r\n"));
  EXPECT_THAT(reply, Not(HasSubstr("Content-Encoding")));
}

TEST(Page, IsCompressedWhereTheClientTakesThat) {
  const PageFile& file = *FindPageFile("/page.js");
  for (const char* list : {"gzip", "deflate, gzip;q=0.5, br", "br , gzip"}) {
    const std::string reply = Reply(file, {{"accept-encoding", list}});
    EXPECT_THAT(reply, HasSubstr("Content-Encoding: gzip\r\n")) << list;
    EXPECT_TRUE(reply.ends_with(file.gzip)) << list;
    EXPECT_LT(file.gzip.size(), file.bytes.size());
  }
  for (const char* list : {"", "br", "gzip;q=0", "gzip;q=0.0", "xgzip", "gzipped"}) {
    EXPECT_TRUE(Reply(file, {{"accept-encoding", list}}).ends_with(file.bytes)) << list;
  }
}

TEST(Page, IsNotSentTwice) {
  const PageFile& file = *FindPageFile("/page.js");
  const std::string plain = "\"" + std::string(file.tag) + "\"";
  EXPECT_THAT(Reply(file, {}), HasSubstr("ETag: " + plain + "\r\n"));
  const std::string known = Reply(file, {{"if-none-match", "\"other\", " + plain}});
  EXPECT_THAT(known, HasSubstr("HTTP/1.1 304 Not Modified\r\n"));
  EXPECT_THAT(known, Not(HasSubstr("Content-Length")));
  EXPECT_TRUE(known.ends_with("\r\n\r\n"));
  // The compressed bytes have another tag.
  EXPECT_THAT(Reply(file, {{"if-none-match", plain}, {"accept-encoding", "gzip"}}),
              HasSubstr("HTTP/1.1 200 OK\r\n"));
}

}  // namespace
}  // namespace aster::serve
