// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "discovery/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aster::discovery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Heard HearBytes(const DnsMessage& message) {
  return HearMessage(ParseDnsMessage(FormatDnsMessage(message)).value());
}

TEST(Service, AnOfferIsHeardUnderEachLabel) {
  const Offer offer{.instance = DrawInstance(), .labels = {"_c01", "_i02"}, .port = 7424};
  const Heard heard = HearBytes(OfferMessage(offer));
  EXPECT_THAT(heard.sightings, ElementsAre(Sighting{offer.instance, "_c01", 7424},
                                           Sighting{offer.instance, "_i02", 7424}));
  EXPECT_THAT(heard.asked, IsEmpty());
}

TEST(Service, AGoodbyeIsNoOffer) {
  const Offer offer{.instance = DrawInstance(), .labels = {"_c01"}, .port = 7424};
  EXPECT_THAT(HearBytes(OfferMessage(offer, /*is_over=*/true)).sightings, IsEmpty());
}

TEST(Service, AQuestionNamesLabelsAndKnownInstances) {
  const std::string instance = DrawInstance();
  const Heard heard = HearBytes(AskMessage(std::vector<std::string>{"_c01"}, instance));
  EXPECT_THAT(heard.asked, ElementsAre("_c01"));
  EXPECT_THAT(heard.known, ElementsAre(instance));
  EXPECT_THAT(heard.sightings, IsEmpty());
  // As service browsers ask.
  EXPECT_THAT(HearMessage({.is_answer = false,
                           .questions = {{"_aster._tcp.local", kAnyRecord},
                                         {"_printer._tcp.local", kPointerRecord},
                                         {"_aster._tcp.local", kServiceRecord}},
                           .records = {}})
                  .asked,
              ElementsAre(""));
}

TEST(Service, WhatIsIncompleteIsNoOffer) {
  const Offer offer{.instance = "one._aster._tcp.local", .labels = {"_c01"}, .port = 7424};
  DnsMessage message = OfferMessage(offer);
  for (DnsRecord& record : message.records) record.port = 0;
  EXPECT_THAT(HearMessage(message).sightings, IsEmpty());
  message = OfferMessage(offer);
  std::erase_if(message.records,
                [](const DnsRecord& record) { return record.type == kServiceRecord; });
  EXPECT_THAT(HearMessage(message).sightings, IsEmpty());
  message = OfferMessage(offer);
  message.is_answer = false;
  EXPECT_THAT(HearMessage(message).sightings, IsEmpty());
}

TEST(Service, LabelsDoNotRevealNames) {
  const std::vector<uint8_t> secret(32, 7);
  EXPECT_EQ(ClusterLabel("certificate"), ClusterLabel("certificate"));
  EXPECT_NE(ClusterLabel("certificate"), ClusterLabel("another"));
  EXPECT_THAT(InvitationLabel(secret), Not(HasSubstr("0707")));
  EXPECT_TRUE(IsInvitationLabel(InvitationLabel(secret)));
  EXPECT_FALSE(IsInvitationLabel(ClusterLabel("certificate")));
  EXPECT_EQ(ClusterLabel("certificate").size(), 18U);
  EXPECT_NE(DrawInstance(), DrawInstance());
}

}  // namespace
}  // namespace aster::discovery
