// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/standby.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "base/log.h"

namespace aster::node {
namespace {

// The most layers of a slice that a peer reports; no model has more.
constexpr uint32_t kMostLayers = 4096;

// Which nodes have which parts of a model: its layers, then the embedding and the head.
struct Holders {
  std::map<uint32_t, std::set<cluster::NodeId>> layers;
  std::set<cluster::NodeId> embedding;
  std::set<cluster::NodeId> head;
};

void Add(const StandbyPeer& peer, std::map<Hash128, Holders>& models) {
  const cluster::NodeId node = peer.description.node;
  const auto add = [&](Holders& holders, const cluster::LayerRange& range, bool embedding,
                       bool head) {
    for (uint32_t layer = range.begin; layer < std::min(range.end, kMostLayers); ++layer)
      holders.layers[layer].insert(node);
    if (embedding) holders.embedding.insert(node);
    if (head) holders.head.insert(node);
  };
  for (const cluster::HeldModel& held : peer.description.models) {
    Holders& holders = models[held.fingerprint];
    for (const cluster::LayerRange& range : held.layers) add(holders, range, false, false);
    add(holders, {}, held.embedding, held.head);
  }
  for (const cluster::SliceStatus& slice : peer.status.slices) {
    if (slice.is_ready) add(models[slice.fingerprint], slice.layers, slice.embedding, slice.head);
  }
}

bool IsAlone(const std::set<cluster::NodeId>& holders, const cluster::NodeId& node) {
  return holders.size() == 1 && holders.contains(node);
}

// Adds the parts of a slice that only the node computing it has, as ranges without gaps.
void AddAlone(const cluster::NodeId& node, const cluster::SliceStatus& slice,
              const Holders& holders, std::vector<StandbySlice>& kept) {
  std::vector<model::Slice> pieces;
  for (uint32_t layer = slice.layers.begin; layer < std::min(slice.layers.end, kMostLayers);
       ++layer) {
    if (!IsAlone(holders.layers.at(layer), node)) continue;
    if (pieces.empty() || pieces.back().layer_end != layer)
      pieces.push_back({.layer_begin = layer, .layer_end = layer});
    pieces.back().layer_end = layer + 1;
  }
  for (model::Slice& piece : pieces) {
    piece.embedding = slice.embedding && piece.layer_begin == slice.layers.begin &&
                      IsAlone(holders.embedding, node);
    piece.head = slice.head && piece.layer_end == slice.layers.end && IsAlone(holders.head, node);
    const StandbySlice keep{.fingerprint = slice.fingerprint, .slice = piece, .from = node};
    if (std::ranges::count(kept, keep) == 0) kept.push_back(keep);
  }
}

}  // namespace

std::vector<StandbySlice> SlicesToKeep(const StandbyPeer& self,
                                       std::span<const StandbyPeer> others) {
  std::map<Hash128, Holders> models;
  Add(self, models);
  for (const StandbyPeer& peer : others) Add(peer, models);
  std::vector<StandbySlice> kept;
  for (const StandbyPeer& peer : others) {
    for (const cluster::SliceStatus& slice : peer.status.slices) {
      if (slice.is_ready)
        AddAlone(peer.description.node, slice, models.at(slice.fingerprint), kept);
    }
  }
  return kept;
}

Standby::Standby(Look look, Keep keep, Clock& clock, const StandbyOptions& options)
    : look_(std::move(look)), keep_(std::move(keep)), clock_(clock), options_(options) {}

Standby::~Standby() { Stop(); }

Status Standby::Start() {
  try {
    thread_ = std::thread([this] { Main(); });
  } catch (const std::system_error& error) {
    return ResourceExhausted(std::string("no thread to keep weights: ") + error.what());
  }
  return Ok();
}

void Standby::Stop() {
  stop_.request_stop();
  {
    const MutexLock lock(mu_);
    stop_asked_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void Standby::KeepAll() {
  const Seen seen = look_();
  const std::vector<StandbySlice> wanted = SlicesToKeep(seen.self, seen.others);
  // Slices that are computed elsewhere now may be needed again later.
  std::erase_if(done_,
                [&](const StandbySlice& done) { return std::ranges::count(wanted, done) == 0; });
  for (const StandbySlice& slice : wanted) {
    if (std::ranges::count(done_, slice) > 0) continue;
    if (stop_.stop_requested()) return;
    const Status kept = keep_(slice, stop_.get_token());
    // Without room now there is none in half a minute; after other errors it tries again.
    if (!kept.ok() && kept.error().code() != Code::kResourceExhausted) {
      log::Debug("weights were not kept for another node", {{"why", kept.error().message()}});
      continue;
    }
    done_.push_back(slice);
    log::Info(kept.ok() ? "keeps weights that one other node has"
                        : "no room for weights that one other node has",
              {{"node", slice.from.ToText()},
               {"model", slice.fingerprint.ToHex().substr(0, 8)},
               {"layer_begin", slice.slice.layer_begin},
               {"layer_end", slice.slice.layer_end}});
  }
}

void Standby::Main() {
  for (int64_t wait_ns = options_.first_look_ns;; wait_ns = options_.look_ns) {
    {
      const MutexLock lock(mu_);
      const int64_t deadline_ns = clock_.NowNs() + wait_ns;
      while (!stop_.stop_requested() && clock_.WaitUntil(stop_asked_, mu_, deadline_ns)) {
      }
      if (stop_.stop_requested()) return;
    }
    KeepAll();
  }
}

}  // namespace aster::node
