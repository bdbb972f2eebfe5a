// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/member.h"

#include <gtest/gtest.h>

namespace aster::cluster {
namespace {

std::string Parsed(std::string_view text, uint16_t default_port = 0) {
  const auto parsed = ParseHostPort(text, default_port);
  return parsed.ok() ? parsed->ToText() : "error";
}

TEST(HostPort, IsReadAsPeopleWriteIt) {
  EXPECT_EQ(Parsed("192.168.1.2:80"), "192.168.1.2:80");
  EXPECT_EQ(Parsed("desk.local:7340"), "desk.local:7340");
  EXPECT_EQ(Parsed("[::1]:80"), "[::1]:80");
  EXPECT_EQ(Parsed("desk", 7340), "desk:7340");
  EXPECT_EQ(Parsed("desk:1", 7340), "desk:1");
  EXPECT_EQ(Parsed("fe80::1%eth0", 7340), "[fe80::1%eth0]:7340");
  EXPECT_EQ(Parsed("[::1]", 7340), "[::1]:7340");
  EXPECT_EQ(Parsed("host:0"), "host:0");
}

TEST(HostPort, WhatIsNoneIsRefused) {
  for (const char* text : {"", "host", "host:", ":80", "host:65536", "host:-1", "host:8x", "[::1",
                           "[::1]80", "::1", "a b:80", "h\n:80", "http://h:80", "[]:80"}) {
    EXPECT_EQ(Parsed(text), "error") << text;
  }
  EXPECT_EQ(Parsed("host:", 7340), "error");
  EXPECT_EQ(Parsed(std::string(300, 'a') + ":80"), "error");
}

TEST(HostPort, KnowsItsOwnMachine) {
  EXPECT_TRUE(ParseHostPort("127.0.0.1:80")->is_loopback());
  EXPECT_TRUE(ParseHostPort("[::1]:80")->is_loopback());
  EXPECT_TRUE(ParseHostPort("localhost:80")->is_loopback());
  EXPECT_FALSE(ParseHostPort("0.0.0.0:80")->is_loopback());
  EXPECT_FALSE(ParseHostPort("10.127.0.1:80")->is_loopback());
}

TEST(NodeName, IsPlain) {
  for (const char* name : {"desk", "a", "Node_1.local", "9"}) EXPECT_TRUE(CheckNodeName(name).ok());
  for (const char* name : {"", "-x", ".x", "a b", "a/b", "a\x1b", "ä", "a=b", "a,b", "a:b"})
    EXPECT_FALSE(CheckNodeName(name).ok()) << name;
  EXPECT_FALSE(CheckNodeName(std::string(65, 'a')).ok());
}

}  // namespace
}  // namespace aster::cluster
