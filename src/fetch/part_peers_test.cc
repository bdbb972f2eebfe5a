// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "fetch/part_peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fetch/fetch_for_test.h"

namespace aster::fetch {
namespace {

using testing::HasSubstr;

const Hash128& Whole() { return SourceModel::Get().fingerprint(); }

// Has one part, and knows it only by that part's own fingerprint, as any node does.
class Holder final : public PartHolder {
 public:
  explicit Holder(PartHere half) : half_(std::move(half)) {}

  std::string name() const override { return "has " + half_.part.description.name; }
  Result<std::vector<cluster::HeldModel>> Held() override {
    if (is_silent) return Error(Code::kUnavailable, "silence");
    return std::vector{half_.part.description};
  }
  Result<rpc::ModelManifest> FetchManifest(const Hash128& fingerprint) override {
    if (fingerprint != half_.fingerprint.model) return NotFound("nothing of it is here");
    return half_.part.manifest;
  }
  Status FetchTensor(const Hash128& fingerprint, std::string_view tensor, uint64_t offset,
                     const rpc::ByteSink& sink) override {
    if (fingerprint != half_.fingerprint.model) return NotFound("nothing of it is here");
    ++tensors;
    return ReadTensor(*half_.files, tensor, offset, sink);
  }

  bool is_silent = false;
  int tensors = 0;

 private:
  const PartHere half_;
};

class PartPeers : public testing::Test {
 protected:
  static Result<Bytes> Fetch(WeightPeer& peer, const std::string& tensor) {
    static std::vector<uint8_t> got;
    got.clear();
    TRY(peer.FetchTensor(Whole(), tensor, 0, [](Bytes piece) -> Status {
      got.insert(got.end(), piece.begin(), piece.end());
      return Ok();
    }));
    return Bytes(got);
  }

  const Halves halves_;
  const std::shared_ptr<Holder> low_ = std::make_shared<Holder>(halves_.low());
  const std::shared_ptr<Holder> high_ = std::make_shared<Holder>(halves_.high());
  const std::shared_ptr<Holder> other_ = std::make_shared<Holder>(halves_.high_of_other());
  const std::string in_low_ = "blk.0.attn_q.weight";
  const std::string in_high_ = "blk.3.attn_q.weight";
};

TEST_F(PartPeers, TogetherSayWhatTheModelIs) {
  for (const auto& peer : PeersWithParts({low_, other_, high_}, {}, nullptr)) {
    const auto manifest = peer->FetchManifest(Whole());
    ASSERT_TRUE(manifest.ok()) << manifest.error().message();
    EXPECT_TRUE(CheckManifest(*manifest, Whole()).ok());
  }
  const auto with_own = PeersWithParts({high_}, {halves_.low()}, nullptr);
  EXPECT_TRUE(with_own.front()->FetchManifest(Whole()).ok());
  const auto all_own = PeersWithParts({}, {halves_.low(), halves_.high()}, nullptr);
  EXPECT_TRUE(all_own.front()->FetchManifest(Whole()).ok());
}

TEST_F(PartPeers, SayWhatTheyHaveWhereThatIsNotIt) {
  low_->is_silent = true;
  const auto peers = PeersWithParts({low_, other_, high_}, {}, nullptr);
  const auto manifest = peers[1]->FetchManifest(Whole());
  ASSERT_FALSE(manifest.ok());
  EXPECT_THAT(manifest.error().message(), HasSubstr("it has other (layers 2-3 of 4), and no part"));
  EXPECT_THAT(peers[0]->FetchManifest(Whole()).error().message(), HasSubstr("nothing of it"));
}

TEST_F(PartPeers, HaveNoPartWithTheManifestOfAnother) {
  PartHere lie = halves_.low();
  lie.part.manifest = halves_.high().part.manifest;
  const auto peers = PeersWithParts({std::make_shared<Holder>(lie)}, {}, nullptr);
  EXPECT_THAT(peers[0]->FetchManifest(Whole()).error().message(), HasSubstr("nothing of it"));
}

TEST_F(PartPeers, SendTensorsOfTheirPart) {
  const auto peers = PeersWithParts({low_, high_}, {}, nullptr);
  const auto low = Fetch(*peers[0], in_low_);
  ASSERT_TRUE(low.ok()) << low.error().message();
  EXPECT_TRUE(std::ranges::equal(*low, SourceModel::Get().files().FindTensor(in_low_)->data));
  EXPECT_EQ(Fetch(*peers[0], in_high_).error().code(), Code::kNotFound);
  EXPECT_TRUE(Fetch(*peers[1], in_high_).ok());
}

TEST_F(PartPeers, OfAnotherModelAreNotAsked) {
  const auto peers = PeersWithParts({low_, other_, high_}, {}, nullptr);
  EXPECT_EQ(Fetch(*peers[1], in_high_).error().code(), Code::kNotFound);
  EXPECT_EQ(other_->tensors, 0);
}

TEST_F(PartPeers, AreKnownAgainWhenTheOthersHaveGone) {
  const auto known = [](const Hash128&) {
    return std::make_shared<const rpc::ModelManifest>(SourceModel::Get().manifest());
  };
  const auto peers = PeersWithParts({low_, other_}, {}, known);
  EXPECT_TRUE(Fetch(*peers[0], in_low_).ok());
  EXPECT_FALSE(Fetch(*peers[1], in_high_).ok());
  EXPECT_EQ(other_->tensors, 0);
}

}  // namespace
}  // namespace aster::fetch
