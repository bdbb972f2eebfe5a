// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/nearest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aster::net {
namespace {

Endpoint Numeric(const std::string& host, const std::string& port) {
  return Resolve({.host = host, .port = port})->front();
}

std::vector<std::string> Texts(const std::vector<Endpoint>& endpoints) {
  std::vector<std::string> texts;
  for (const Endpoint& endpoint : endpoints) texts.push_back(endpoint.ToText());
  return texts;
}

TEST(Nearest, AddressesThatLeadNowhereAreBehindThoseThatAnswer) {
  const SystemClock clock;
  const Socket listener = Listen(Numeric("127.0.0.1", "0")).value();
  const Endpoint here = LocalEndpoint(listener).value();
  std::string closed;
  {
    const Socket ended = Listen(Numeric("127.0.0.1", "0")).value();
    closed = LocalEndpoint(ended)->ToText();
  }
  const std::string port = closed.substr(closed.rfind(':') + 1);
  // No machine has the first; nothing listens at the second.
  const Endpoint nowhere = Numeric("192.0.2.1", "7425"), refused = Numeric("127.0.0.1", port);
  const int64_t begin_ns = clock.NowNs();
  const auto sorted = NearestFirst({nowhere, refused, here}, clock);
  EXPECT_THAT(Texts(sorted), testing::ElementsAre(here.ToText(), nowhere.ToText(), closed));
  // The first is not waited for until it could be connected to.
  EXPECT_LT(clock.NowNs() - begin_ns, 10 * kNsPerSecond);
}

TEST(Nearest, WhereNoneAnswersTheirOrderStays) {
  const SystemClock clock;
  const Endpoint one = Numeric("127.0.0.1", "1"), two = Numeric("127.0.0.1", "2");
  EXPECT_THAT(Texts(NearestFirst({two, one}, clock)),
              testing::ElementsAre(two.ToText(), one.ToText()));
  EXPECT_TRUE(NearestFirst({}, clock).empty());
}

}  // namespace
}  // namespace aster::net
