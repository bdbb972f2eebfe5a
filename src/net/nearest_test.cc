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
  // No machine has the first address; nothing listens at the second.
  const Endpoint nowhere = Numeric("192.0.2.1", "7425"), refused = Numeric("127.0.0.1", port);
  const int64_t begin_ns = clock.NowNs();
  const auto sorted = NearestFirst({nowhere, refused, here}, clock);
  EXPECT_THAT(Texts(sorted), testing::ElementsAre(here.ToText(), nowhere.ToText(), closed));
  // The call does not wait until connecting to the first one times out.
  EXPECT_LT(clock.NowNs() - begin_ns, 10 * kNsPerSecond);
}

TEST(Nearest, WhereNoneAnswersTheirOrderStays) {
  const SystemClock clock;
  const Endpoint one = Numeric("127.0.0.1", "1"), two = Numeric("127.0.0.1", "2");
  EXPECT_THAT(Texts(NearestFirst({two, one}, clock)),
              testing::ElementsAre(two.ToText(), one.ToText()));
  EXPECT_TRUE(NearestFirst({}, clock).empty());
}

TEST(Nearest, OfPathsThatAnswerTheOneThatCostsTheLeastIsFirst) {
  const SystemClock clock;
  const Socket one = Listen(Numeric("127.0.0.1", "0")).value();
  const Socket two = Listen(Numeric("127.0.0.2", "0")).value();
  const Socket three = Listen(Numeric("127.0.0.3", "0")).value();
  const Endpoint slow = LocalEndpoint(one).value(), fast = LocalEndpoint(two).value(),
                 middle = LocalEndpoint(three).value(), nowhere = Numeric("192.0.2.1", "7425");
  PathRates rates;
  rates.Set("127.0.0.1", 100);  // hours for 64 KiB
  rates.Set("127.0.0.2", 1e9);
  rates.Set("127.0.0.3", 2000);
  rates.Set("192.0.2.1", 1e12);
  EXPECT_THAT(
      Texts(NearestFirst({slow, nowhere, middle, fast}, clock, &rates)),
      testing::ElementsAre(fast.ToText(), middle.ToText(), slow.ToText(), "192.0.2.1:7425"));
  // A path without a rate counts as the best of the others.
  PathRates one_rate;
  one_rate.Set("127.0.0.1", 100);
  one_rate.Set("127.0.0.3", 2000);
  EXPECT_NE(Texts(NearestFirst({slow, fast, middle}, clock, &one_rate)).front(), slow.ToText());
}

TEST(Nearest, AddressesAreTextsAsTheyWereGiven) {
  const SystemClock clock;
  const Socket listener = Listen(Numeric("127.0.0.1", "0")).value();
  const std::string here = LocalEndpoint(listener)->ToText();
  const std::vector<std::string> given = {"no-such-host.invalid:1", "192.0.2.1:7424", here};
  EXPECT_THAT(NearestAddressesFirst(given, clock),
              testing::ElementsAre(here, "192.0.2.1:7424", "no-such-host.invalid:1"));
  EXPECT_THAT(NearestAddressesFirst({"no port"}, clock), testing::ElementsAre("no port"));
}

TEST(PathRates, AreKnownOfAddressesThatWereMeasured) {
  PathRates rates;
  EXPECT_EQ(rates.Of("127.0.0.1"), 0);
  rates.Set("127.0.0.1", 5);
  EXPECT_EQ(rates.Of("127.0.0.1"), 5);
  EXPECT_EQ(PathCostNs(7, 0), 7);
  EXPECT_EQ(PathCostNs(7, 65536), 7 + kNsPerSecond);
  EXPECT_EQ(PathCostNs(kNeverNs, 65536), kNeverNs);
}

}  // namespace
}  // namespace aster::net
