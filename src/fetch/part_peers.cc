// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "fetch/part_peers.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "fetch/manifest.h"

namespace aster::fetch {
namespace {

// For all peers together: a manifest has some megabytes.
constexpr size_t kMaxParts = 64;
constexpr uint64_t kMaxPartBytes = uint64_t{1} << 30;

uint64_t BytesOf(const rpc::ModelManifest& manifest) {
  uint64_t bytes = 0;
  for (const rpc::FileManifest& file : manifest.files)
    bytes += file.header.size() + file.contents.size() * sizeof(Hash128);
  return bytes;
}

// The parts of all peers, fetched when the first peer lacks the whole model.
class Parts {
 public:
  Parts(std::vector<std::shared_ptr<PartHolder>> holders, std::vector<PartHere> here,
        KnownManifest known)
      : holders_(std::move(holders)), here_(std::move(here)), known_(std::move(known)) {}

  // The model's manifest, if it is known or the parts make it up; otherwise null.
  const rpc::ModelManifest* Whole(const Hash128& fingerprint) {
    Find(fingerprint);
    return whole_.get();
  }

  // The parts of a peer that belong to the model; the index after the last peer is this machine.
  const std::vector<const Part*>& Proven(const Hash128& fingerprint, size_t peer_index) {
    Find(fingerprint);
    return proven_[peer_index];
  }

  std::string Describe(size_t peer_index) const {
    std::string text;
    for (const Part* part : by_peer_[peer_index]) {
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", part->description.name,
                          LayersText(part->description));
    }
    return text;
  }

 private:
  void Find(const Hash128& fingerprint) {
    if (!has_asked_) AskAll();
    if (fingerprint_ == fingerprint) return;
    fingerprint_ = fingerprint;
    whole_ = known_ ? known_(fingerprint) : nullptr;
    if (!whole_) {
      if (auto found = FindWhole(fingerprint, Distinct())) {
        whole_ = std::make_shared<const rpc::ModelManifest>(*std::move(found));
      }
    }
    proven_.assign(by_peer_.size(), {});
    for (size_t i = 0; whole_ && i < by_peer_.size(); ++i) {
      for (const Part* part : by_peer_[i]) {
        if (IsPartOf(part->manifest, *whole_)) proven_[i].push_back(part);
      }
    }
  }

  std::vector<const Part*> Distinct() const {
    std::vector<const Part*> distinct;
    std::set<Hash128> seen;
    for (const auto& parts : by_peer_) {
      for (const Part* part : parts) {
        if (seen.insert(part->description.fingerprint).second) distinct.push_back(part);
      }
    }
    return distinct;
  }

  void AskAll() {
    has_asked_ = true;
    for (const std::shared_ptr<PartHolder>& holder : holders_) {
      std::vector<const Part*>& parts = by_peer_.emplace_back();
      const auto held = holder->Held();
      if (!held.ok()) continue;
      for (const cluster::HeldModel& model : *held) {
        if (const Part* part = Ask(*holder, model)) parts.push_back(part);
      }
    }
    std::vector<const Part*>& own = by_peer_.emplace_back();
    for (const PartHere& part : here_) own.push_back(&part.part);
  }

  const Part* Ask(PartHolder& holder, const cluster::HeldModel& model) {
    if (model.is_whole() || model.layers.empty() || parts_of_model_.size() == kMaxParts)
      return nullptr;
    auto manifest = holder.FetchManifest(model.fingerprint);
    if (!manifest.ok()) return nullptr;
    // What is kept is bounded, and really the part that the peer lists.
    const uint64_t bytes = BytesOf(*manifest);
    if (bytes > kMaxPartBytes - part_bytes_) return nullptr;
    if (!CheckManifest(*manifest, model.fingerprint).ok()) return nullptr;
    part_bytes_ += bytes;
    parts_of_model_.push_back(
        std::make_unique<Part>(Part{.description = model, .manifest = *std::move(manifest)}));
    return parts_of_model_.back().get();
  }

  const std::vector<std::shared_ptr<PartHolder>> holders_;
  const std::vector<PartHere> here_;
  const KnownManifest known_;
  bool has_asked_ = false;
  uint64_t part_bytes_ = 0;  // of parts_of_model_
  std::vector<std::unique_ptr<Part>> parts_of_model_;
  std::vector<std::vector<const Part*>> by_peer_;  // [holders_ and this machine]
  // The last requested model, and its parts below.
  std::optional<Hash128> fingerprint_;
  std::shared_ptr<const rpc::ModelManifest> whole_;
  std::vector<std::vector<const Part*>> proven_;  // [holders_ and this machine]
};

class PartPeer final : public WeightPeer {
 public:
  // holder null: this machine.
  PartPeer(std::shared_ptr<PartHolder> holder, std::shared_ptr<Parts> parts, size_t index)
      : holder_(std::move(holder)), parts_(std::move(parts)), index_(index) {}

  std::string name() const override { return holder_ ? holder_->name() : "this node"; }

  Result<rpc::ModelManifest> FetchManifest(const Hash128& fingerprint) override {
    Result<rpc::ModelManifest> manifest = NotFound("no file here is the model");
    if (holder_) manifest = holder_->FetchManifest(fingerprint);
    if (manifest.ok() || manifest.error().code() != Code::kNotFound) return manifest;
    if (const rpc::ModelManifest* whole = parts_->Whole(fingerprint)) return *whole;
    const std::string held = parts_->Describe(index_);
    if (held.empty()) return manifest;
    return NotFound(
        fmt::format("it has {}, and no part of another node completes it to this model", held));
  }

  Status FetchTensor(const Hash128& fingerprint, std::string_view tensor, uint64_t offset,
                     const rpc::ByteSink& sink) override {
    Status answer = NotFound("no other file here has it");
    if (holder_) answer = holder_->FetchTensor(fingerprint, tensor, offset, sink);
    if (!holder_ || answer.ok() || answer.error().code() != Code::kNotFound) return answer;
    for (const Part* part : parts_->Proven(fingerprint, index_)) {
      answer = holder_->FetchTensor(part->description.fingerprint, tensor, offset, sink);
      if (answer.ok() || answer.error().code() != Code::kNotFound) return answer;
    }
    return answer;
  }

 private:
  const std::shared_ptr<PartHolder> holder_;
  const std::shared_ptr<Parts> parts_;
  const size_t index_;
};

}  // namespace

std::vector<std::shared_ptr<WeightPeer>> PeersWithParts(
    const std::vector<std::shared_ptr<PartHolder>>& holders, std::vector<PartHere> here,
    KnownManifest known) {
  const bool is_here = !here.empty();
  const auto parts = std::make_shared<Parts>(holders, std::move(here), std::move(known));
  std::vector<std::shared_ptr<WeightPeer>> peers;
  peers.reserve(holders.size() + 1);
  for (const std::shared_ptr<PartHolder>& holder : holders) {
    peers.push_back(std::make_shared<PartPeer>(holder, parts, peers.size()));
  }
  if (is_here) peers.push_back(std::make_shared<PartPeer>(nullptr, parts, peers.size()));
  return peers;
}

}  // namespace aster::fetch
