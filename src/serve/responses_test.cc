// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/responses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

// The events of a stream that fails.
std::vector<ordered_json> EventsOfFailure(bool has_begun) {
  net::Waker waker;
  const auto stream = std::make_shared<ReplyStream>(
      ReplyStream::Options{.request_id = "r", .in_chunks = false}, waker);
  ApiRequest request;
  request.streams = true;
  const auto writer = MakeResponsesWriter({.stream = stream, .id = "resp_1", .model = "nova"},
                                          request, ordered_json::object(), nullptr);
  writer->Await();
  if (has_begun) writer->Begin({});
  // Keep-alives come by themselves.
  for (int i = 0; i < 2; ++i) stream->SendKeepAlive(i * kNsPerSecond);
  writer->Fail({.status = 503, .message = "no more"});
  std::string output;
  EXPECT_TRUE(stream->TakeOutput(output));
  std::vector<ordered_json> events;
  constexpr std::string_view kData = "data: ";
  for (size_t at = output.find(kData); at != std::string::npos; at = output.find(kData, at + 1)) {
    const size_t begin = at + kData.size();
    events.push_back(ordered_json::parse(output.substr(begin, output.find('\n', begin) - begin)));
  }
  return events;
}

TEST(ResponsesStream, AFailureIsNeverTheFirstEvent) {
  for (const bool has_begun : {false, true}) {
    SCOPED_TRACE(has_begun);
    const std::vector<ordered_json> events = EventsOfFailure(has_begun);
    ASSERT_EQ(events.size(), 3U);
    EXPECT_EQ(events[0]["type"], "response.created");
    EXPECT_EQ(events[0]["response"]["status"], "in_progress");
    EXPECT_TRUE(events[0]["response"]["error"].is_null());
    EXPECT_EQ(events[2]["type"], "response.failed");
    EXPECT_EQ(events[2]["sequence_number"], 2);
    EXPECT_EQ(events[2]["response"]["error"]["message"], "no more");
  }
}

}  // namespace
}  // namespace aster::serve
