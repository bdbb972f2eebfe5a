// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/origin.h"

#include <gtest/gtest.h>

namespace aster::serve {
namespace {

TEST(Origin, TellsPagesFromPrograms) {
  EXPECT_TRUE(IsOfPage("http://a.example"));
  EXPECT_TRUE(IsOfPage("https://a.example:8443"));
  EXPECT_TRUE(IsOfPage("null"));
  EXPECT_FALSE(IsOfPage(""));
  EXPECT_FALSE(IsOfPage("app://editor"));
}

TEST(Origin, LoopbackIsTheWholeName) {
  EXPECT_TRUE(IsLoopbackOrigin("http://localhost"));
  EXPECT_TRUE(IsLoopbackOrigin("http://127.0.0.1:5173"));
  EXPECT_TRUE(IsLoopbackOrigin("https://[::1]:8443"));
  EXPECT_FALSE(IsLoopbackOrigin("http://localhost.example"));
  EXPECT_FALSE(IsLoopbackOrigin("http://127.0.0.1.example:80"));
  EXPECT_FALSE(IsLoopbackOrigin("localhost"));
}

TEST(Origin, SameOriginHasThePort) {
  EXPECT_TRUE(IsSameOrigin("http://192.168.1.5:8080", "192.168.1.5:8080"));
  EXPECT_TRUE(IsSameOrigin("https://Rack.Local", "rack.local"));
  EXPECT_FALSE(IsSameOrigin("http://192.168.1.5:8081", "192.168.1.5:8080"));
  EXPECT_FALSE(IsSameOrigin("http://192.168.1.5", "192.168.1.5:8080"));
  EXPECT_FALSE(IsSameOrigin("null", "null"));
  EXPECT_FALSE(IsSameOrigin("http://", ""));
}

TEST(Origin, HostsThatNoStrangerCanArrange) {
  for (const char* host :
       {"127.0.0.1:8080", "192.168.1.5", "[::1]:8080", "[fe80::1]", "localhost:8080", "rack",
        "rack:8080", "Rack.LOCAL:8080", "rack.local.", "aster.internal", "a.localhost"}) {
    EXPECT_TRUE(IsLocalHost(host)) << host;
  }
  for (const char* host : {"a.example:8080", "a.example", "local.example", "127.0.0.1.example:80",
                           "notlocal.xlocal", "a.example."}) {
    EXPECT_FALSE(IsLocalHost(host)) << host;
  }
}

}  // namespace
}  // namespace aster::serve
