// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Invalid messages. Valid ones are tested by calls (control_server_test.cc).

#include "rpc/from_message.h"

#include <aster/cluster/v1/control.pb.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "rpc/samples_for_test.h"

namespace aster::rpc {
namespace {

// A valid message is accepted, and a changed one is not.
template <typename Message, typename Value>
void ExpectRefused(const Value& good,
                   const std::vector<std::function<void(Message& message)>>& changes) {
  for (size_t i = 0; i < changes.size(); ++i) {
    Message message;
    ToMessage(good, &message);
    ASSERT_TRUE(FromMessage(message).ok());
    changes[i](message);
    const auto value = FromMessage(message);
    ASSERT_FALSE(value.ok()) << "change " << i;
    EXPECT_EQ(value.error().code(), Code::kInvalidArgument) << value.error().message();
  }
}

TEST(FromMessage, RefusesGossipThatCannotBe) {
  ExpectRefused<v1::Gossip>(
      SampleGossip(),
      {[](v1::Gossip& m) { m.mutable_members(0)->clear_node(); },
       [](v1::Gossip& m) { m.mutable_members(0)->clear_name(); },
       [](v1::Gossip& m) { m.mutable_members(0)->set_name("a\x1b[2J"); },
       [](v1::Gossip& m) { m.mutable_members(1)->set_state(static_cast<v1::Member::State>(4)); },
       [](v1::Gossip& m) { m.mutable_members(1)->set_state(static_cast<v1::Member::State>(-1)); },
       [](v1::Gossip& m) { m.mutable_members(1)->set_state(static_cast<v1::Member::State>(256)); },
       [](v1::Gossip& m) { m.mutable_members(1)->set_incarnation(UINT64_MAX); },
       [](v1::Gossip& m) { m.mutable_members(1)->add_data_addresses("nowhere"); },
       [](v1::Gossip& m) {
         for (int i = 0; i < 9; ++i) m.mutable_members(1)->add_data_addresses("a:1");
       },
       [](v1::Gossip& m) {
         for (int i = 0; i < 1024; ++i) *m.add_members() = m.members(0);
       },
       [](v1::Gossip& m) { m.set_revocations(std::string(200'000, 'x')); },
       [](v1::Gossip& m) {
         for (int i = 0; i < 62; ++i) m.add_buckets(1);
       },
       [](v1::Gossip& m) {
         for (int i = 0; i < 64; ++i) *m.add_wanted() = m.wanted(0);
       },
       [](v1::Gossip& m) { m.add_wanted(); }});
  v1::Gossip message;
  ToMessage(SampleGossip(), &message);
  const Gossip gossip = FromMessage(message).value();
  EXPECT_EQ(gossip.members, SampleGossip().members);
  EXPECT_EQ(gossip.certificates, SampleGossip().certificates);
  EXPECT_EQ(gossip.buckets, SampleGossip().buckets);
  EXPECT_EQ(gossip.wanted, SampleGossip().wanted);
}

TEST(FromMessage, RefusesPartsOfSessionsThatCannotBe) {
  using M = v1::SessionPart;
  ExpectRefused<M>(
      SampleSessionPart(),
      {[](M& m) { m.set_name(std::string(256, 'x')); }, [](M& m) { m.set_offset(991); },
       [](M& m) { m.set_offset(UINT64_MAX); }, [](M& m) { m.set_total_bytes(0); },
       [](M& m) { m.set_total_bytes(uint64_t{1} << 43); },
       [](M& m) {
         m.set_total_bytes(uint64_t{1} << 30);
         m.set_data(std::string((128 << 10) + 1, 'x'));
       }});
  v1::SessionPart message;
  ToMessage(SampleSessionPart(), &message);
  const SessionPart part = FromMessage(message).value();
  EXPECT_EQ(part.content, SampleSessionPart().content);
  EXPECT_EQ(part.data, SampleSessionPart().data);
  EXPECT_EQ(part.transfer, SampleSessionPart().transfer);
  EXPECT_TRUE(part.is_last);
}

TEST(FromMessage, RefusesOffersOfWeightsThatCannotBe) {
  using M = v1::WeightsOffer;
  const WeightsOffer offer{.fingerprint = {.low = 1, .high = 2}, .addresses = {"desk:7000"}};
  ExpectRefused<M>(offer, {[](M& m) { m.clear_addresses(); }, [](M& m) { m.add_addresses("desk"); },
                           [](M& m) { m.add_addresses("desk:0"); },
                           [](M& m) { m.add_addresses(std::string(300, 'x') + ":1"); },
                           [](M& m) {
                             for (int i = 0; i < 8; ++i) m.add_addresses("desk:1");
                           }});
  v1::WeightsOffer message;
  ToMessage(offer, &message);
  EXPECT_EQ(FromMessage(message)->fingerprint, offer.fingerprint);
  EXPECT_EQ(FromMessage(message)->addresses, offer.addresses);
}

TEST(FromMessage, RefusesLongSignaturesOfDrains) {
  using M = v1::DrainRequest;
  const DrainRequest request{.is_drained = true, .signature = "\x30\x01"};
  ExpectRefused<M>(request, {[](M& m) { m.set_signature(std::string(129, 'x')); }});
  v1::DrainRequest message;
  ToMessage(request, &message);
  EXPECT_TRUE(FromMessage(message)->is_drained);
  EXPECT_EQ(FromMessage(message)->signature, request.signature);
}

TEST(FromMessage, RefusesDescriptionsThatCannotBe) {
  using M = v1::Description;
  ExpectRefused<M>(
      SampleDescription(),
      {[](M& m) { m.clear_node(); }, [](M& m) { m.set_name("a b"); },
       [](M& m) { m.set_version("1\n2"); }, [](M& m) { m.set_version(std::string(256, '1')); },
       [](M& m) { m.set_instruction_set("\xff"); }, [](M& m) { m.set_memory_bytes_per_s(-1); },
       [](M& m) { m.set_multiply_flops_per_s(std::numeric_limits<double>::quiet_NaN()); },
       [](M& m) { m.set_multiply_flops_per_s(std::numeric_limits<double>::infinity()); },
       [](M& m) { m.mutable_models(0)->set_name("\u202e"); },
       [](M& m) { m.mutable_models(0)->set_layer_count(31); },
       [](M& m) { m.mutable_models(0)->mutable_layers(1)->set_begin(7); },
       [](M& m) { m.mutable_models(0)->mutable_layers(0)->set_end(0); },
       [](M& m) {
         for (int i = 0; i < 4096; ++i) m.add_models();
       }});
}

TEST(FromMessage, RefusesStatusThatCannotBe) {
  using M = v1::NodeStatus;
  ExpectRefused<M>(SampleStatus(),
                   {[](M& m) { m.clear_node(); }, [](M& m) { m.clear_name(); },
                    [](M& m) { m.mutable_slices(0)->mutable_layers()->set_end(1); },
                    [](M& m) { m.mutable_slices(0)->set_model("\x7f"); },
                    [](M& m) { m.mutable_links(0)->clear_peer(); },
                    [](M& m) { m.mutable_links(0)->set_bytes_per_s(-1); },
                    [](M& m) { m.mutable_members(0)->set_name(""); },
                    [](M& m) { m.mutable_rates(0)->mutable_layers()->set_end(1); },
                    [](M& m) { m.mutable_rates(0)->set_part(0); },
                    [](M& m) { m.mutable_rates(0)->set_part(1.5); }, [](M& m) { m.set_load(-1); },
                    [](M& m) { m.mutable_battery()->set_charge(-0.5); },
                    [](M& m) {
                      for (int i = 0; i < 4096; ++i) *m.add_rates() = m.rates(0);
                    },
                    [](M& m) {
                      for (int i = 0; i < 4096; ++i) *m.add_links() = m.links(0);
                    },
                    [](M& m) {
                      for (int i = 0; i < 4096; ++i) m.add_slices();
                    }});
}

TEST(FromMessage, RefusesJoiningThatCannotBe) {
  using Request = v1::JoinRequest;
  ExpectRefused<Request>(SampleJoinRequest(),
                         {[](Request& m) { m.set_name("; rm"); },
                          [](Request& m) { m.set_invitation(std::string(65, 'A')); },
                          [](Request& m) { m.set_proof(std::string(65, 'A')); },
                          [](Request& m) { m.set_certificate_request(std::string(20'000, 'A')); }});
  using Reply = v1::JoinReply;
  ExpectRefused<Reply>(SampleJoinReply(),
                       {[](Reply& m) { m.clear_cluster_name(); },
                        [](Reply& m) { m.set_ca_certificate(std::string(20'000, 'A')); },
                        [](Reply& m) { m.set_certificate(std::string(20'000, 'A')); },
                        [](Reply& m) { m.set_revocations(std::string(200'000, 'A')); },
                        [](Reply& m) { m.set_proof(std::string(65, 'A')); }});
}

TEST(ToMessage, MakesNamesFitToBeShown) {
  cluster::Description description = SampleDescription();
  description.models[0].name = "a\nb\xff\x1b";
  description.models[1].name = std::string(254, 'x') + "\u00fc";
  v1::Description message;
  ToMessage(description, &message);
  const cluster::Description arrived = FromMessage(message).value();
  EXPECT_EQ(arrived.models[0].name, "a\\nb\ufffd\\x1b");
  EXPECT_EQ(arrived.models[1].name, std::string(254, 'x'));
}

v1::ManifestPart FilePart(const std::string& name, uint64_t file_bytes, uint64_t header_bytes,
                          uint32_t content_count) {
  v1::ManifestPart part;
  part.set_name(name);
  part.set_file_bytes(file_bytes);
  part.set_header_bytes(header_bytes);
  part.set_content_count(content_count);
  return part;
}

Status ReadParts(const std::vector<v1::ManifestPart>& parts) {
  ManifestReader reader({});
  for (const v1::ManifestPart& part : parts) TRY(reader.Add(part));
  TRY(reader.Finish());
  return Ok();
}

TEST(ManifestReader, RefusesWhatCannotBe) {
  v1::ManifestPart header;
  header.set_header("12345");
  v1::ManifestPart hash;
  hash.set_contents(std::string(16, 'h'));
  v1::ManifestPart half_a_hash;
  half_a_hash.set_contents(std::string(8, 'h'));
  EXPECT_TRUE(ReadParts({FilePart("a", 9, 5, 1), header, hash}).ok());
  const std::vector<std::vector<v1::ManifestPart>> cases = {
      {},
      {header},                                          // without a file
      {FilePart("a", 9, 5, 1), hash},                    // a header is missing
      {FilePart("a", 9, 5, 1), header},                  // a hash is missing
      {FilePart("a", 9, 5, 1), FilePart("b", 0, 0, 0)},  // the same again for an earlier file
      {FilePart("a", 9, 5, 0), header, header},
      {FilePart("a", 9, 5, 0), header, hash},
      {FilePart("a", 9, 0, 1), half_a_hash},
      {FilePart("a", 4, 5, 0), header},  // more header than file
      {FilePart("a", UINT64_MAX, UINT64_MAX, 0)},
      {FilePart("a", 0, 0, UINT32_MAX)},
      {FilePart("a", 0, 0, 0), FilePart("a", 0, 0, 0)},
      {FilePart("/etc/passwd", 0, 0, 0)},
      {FilePart("..", 0, 0, 0)},
      {FilePart("a\\b", 0, 0, 0)},
      {FilePart(std::string("a\0b", 3), 0, 0, 0)},
      {FilePart(std::string(256, 'a'), 0, 0, 0)},
  };
  for (size_t i = 0; i < cases.size(); ++i) EXPECT_FALSE(ReadParts(cases[i]).ok()) << "case " << i;
}

TEST(ManifestReader, BoundsWhatIsAnnouncedAltogether) {
  ManifestReader reader({});
  Status status;
  int files = 0;
  for (; status.ok(); ++files)
    status = reader.Add(FilePart("file " + std::to_string(files), 0, 0, 0));
  EXPECT_EQ(files - 1, 1024);
}

}  // namespace
}  // namespace aster::rpc
