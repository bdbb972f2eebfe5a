// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "fetch/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "fetch/manifest.h"

namespace aster::fetch {
namespace {

// The most combinations of parts that are tried, for one model or several similar ones.
constexpr int kMaxSteps = 256;

// The end of the layers that begin at `layer` without a gap.
uint32_t EndOfLayers(std::span<const Part* const> parts, uint32_t layer) {
  for (bool is_longer = true; is_longer;) {
    is_longer = false;
    for (const Part* part : parts) {
      for (const cluster::LayerRange& range : part->description.layers) {
        if (range.begin > layer || range.end <= layer) continue;
        layer = range.end;
        is_longer = true;
      }
    }
  }
  return layer;
}

bool AreOfOneKind(const cluster::HeldModel& a, const cluster::HeldModel& b) {
  return a.architecture == b.architecture && a.layer_count == b.layer_count;
}

class Search {
 public:
  Search(const Hash128& fingerprint, std::span<const Part* const> parts)
      : fingerprint_(fingerprint), parts_(parts) {}

  std::optional<rpc::ModelManifest> Run() {
    Extend(0);
    return std::move(found_);
  }

 private:
  // Adds parts that continue the chosen ones, until all layers are there.
  void Extend(uint32_t layer) {
    for (const Part* part : parts_) {
      if (found_ || steps_ == kMaxSteps) return;
      if (!chosen_.empty() && !AreOfOneKind(part->description, chosen_.front()->description)) {
        continue;
      }
      if (EndOfLayers({&part, 1}, layer) == layer) continue;
      ++steps_;
      chosen_.push_back(part);
      const uint32_t end = EndOfLayers(chosen_, layer);
      if (end < part->description.layer_count) {
        Extend(end);
      } else {
        Try();
      }
      chosen_.pop_back();
    }
  }

  void Try() {
    std::vector<const rpc::ModelManifest*> manifests;
    manifests.reserve(chosen_.size());
    for (const Part* part : chosen_) manifests.push_back(&part->manifest);
    auto joined = JoinManifests(manifests);
    if (joined.ok() && joined->fingerprint == fingerprint_) found_ = *std::move(joined);
  }

  const Hash128 fingerprint_;
  const std::span<const Part* const> parts_;
  std::vector<const Part*> chosen_;
  int steps_ = 0;
  std::optional<rpc::ModelManifest> found_;
};

}  // namespace

std::optional<rpc::ModelManifest> FindWhole(const Hash128& fingerprint,
                                            std::span<const Part* const> parts) {
  return Search(fingerprint, parts).Run();
}

bool IsPartOf(const rpc::ModelManifest& part, const rpc::ModelManifest& whole) {
  const auto joined = JoinManifests(std::vector{&whole, &part});
  return joined.ok() && joined->fingerprint == whole.fingerprint;
}

std::string LayersText(const cluster::HeldModel& held) {
  if (held.is_whole()) return fmt::format("{} layers", held.layer_count);
  std::string ranges;
  for (const cluster::LayerRange& range : held.layers) {
    ranges += fmt::format("{}{}-{}", ranges.empty() ? "" : ", ", range.begin, range.end - 1);
  }
  return fmt::format("layers {} of {}", ranges.empty() ? "none" : ranges, held.layer_count);
}

}  // namespace aster::fetch
