// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace aster::net {
namespace {

using ::testing::HasSubstr;

TEST(HostPort, TakesNamesAndNumbersOfBothFamilies) {
  EXPECT_EQ(ParseHostPort("box.local:7777")->host, "box.local");
  EXPECT_EQ(ParseHostPort("box.local:7777")->port, "7777");
  EXPECT_EQ(ParseHostPort("[fe80::1]:1")->host, "fe80::1");
  EXPECT_TRUE(ParseHostPort("10.0.0.1:65535")->is_numeric());
  EXPECT_TRUE(ParseHostPort("[::1]:0")->is_numeric());
  EXPECT_FALSE(ParseHostPort("box.local:7777")->is_numeric());
}

TEST(HostPort, RefusesTheRestWithAnExample) {
  for (const char* text : {"", ":", "box", "box:", ":7777", "box:65536", "box:777777", "box:-1",
                           "box:7a", "::1:7777", "fe80::1", "[::1]", "[]:1", "box: 1"}) {
    const Result<HostPort> parsed = ParseHostPort(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(parsed.error().message(), HasSubstr("for example 192.168.0.7:7777"));
  }
  EXPECT_FALSE(ParseHostPort(std::string(300, 'h') + ":1").ok());
}

Endpoint At(const char* text) { return Resolve(ParseHostPort(text).value()).value().front(); }

TEST(Endpoint, KnowsLoopback) {
  EXPECT_TRUE(At("127.0.0.1:1").is_loopback());
  EXPECT_TRUE(At("127.9.9.9:1").is_loopback());
  EXPECT_TRUE(At("[::1]:1").is_loopback());
  EXPECT_TRUE(At("[::ffff:127.0.0.1]:1").is_loopback());
  for (const char* text :
       {"0.0.0.0:1", "[::]:1", "128.0.0.1:1", "10.0.0.1:1", "[::ffff:10.0.0.1]:1", "[fe80::1]:1"}) {
    EXPECT_FALSE(At(text).is_loopback()) << text;
  }
}

TEST(Endpoint, ReadsAsItIsWritten) {
  EXPECT_EQ(At("10.0.0.1:80").ToText(), "10.0.0.1:80");
  EXPECT_EQ(At("[2001:db8::1]:7777").ToText(), "[2001:db8::1]:7777");
}

TEST(Listen, ATakenPortIsReported) {
  const Socket first = Listen(At("127.0.0.1:0")).value();
  const Endpoint place = LocalEndpoint(first).value();
  EXPECT_NE(place.port(), 0);
  EXPECT_THAT(Listen(place).error().message(), HasSubstr("another program listens there"));
}

}  // namespace
}  // namespace aster::net
