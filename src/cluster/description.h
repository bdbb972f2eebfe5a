// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What a node says of itself: what it is and holds, which changes seldom, and what it does at the
// moment. Plain values. Must not know how they travel, nor where they come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "cluster/member.h"

namespace aster::cluster {

// Half-open.
struct LayerRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  bool operator==(const LayerRange&) const = default;
};

// A model of which a node has files, perhaps not all of them.
struct HeldModel {
  Hash128 fingerprint;
  std::string name;  // for people: the file's, or the model's own
  std::string architecture;
  uint32_t layer_count = 0;
  std::vector<LayerRange> layers;  // that are here, ascending
  bool embedding = false;
  bool head = false;
  uint64_t tensor_bytes = 0;  // of what is here

  bool is_whole() const {
    return embedding && head && layers.size() == 1 && layers.front() == LayerRange{0, layer_count};
  }

  bool operator==(const HeldModel&) const = default;
};

// A GPU that computes layers of the node's slices: a place behind a bus, mostly with memory of its
// own.
struct DeviceDescription {
  std::string name;
  uint64_t memory_bytes = 0;        // that layers may take
  double multiply_flops_per_s = 0;  // measured, as those of the node; 0: not yet
  double memory_bytes_per_s = 0;
  uint64_t bus_round_trip_ns = 0;  // of a row there and back; 0: not measured
  double bus_bytes_per_s = 0;      // 0: not measured
  bool shares_memory = false;      // its memory is the node's main memory

  bool operator==(const DeviceDescription&) const = default;
};

// A drafter that the node has for others (docs/speculation.md).
struct DrafterDescription {
  std::string model;        // that it drafts for, for people
  std::string drafter;      // "ngram", or a smaller model's name
  Hash128 fingerprint;      // of that model; zeros: n-gram lookup
  Hash128 vocabulary;       // it drafts for every model with this one
  double tokens_per_s = 0;  // measured, for one text; 0: not measured

  bool operator==(const DrafterDescription&) const = default;
};

struct Description {
  NodeId node;
  std::string name;
  std::string version;    // of the program
  uint32_t protocol = 0;  // the newest of the data plane that it speaks; 0: not said
  uint32_t arithmetic = 0;
  uint32_t core_count = 0;  // that it computes with
  std::string instruction_set;
  uint64_t memory_bytes = 0;        // that slices may take, all together
  uint64_t memory_total_bytes = 0;  // of the machine
  double multiply_flops_per_s = 0;  // measured: products as prefill makes them; 0: not yet
  double memory_bytes_per_s = 0;    // measured: weights as decode reads them; 0: not yet
  std::vector<HeldModel> models;
  std::vector<DeviceDescription> devices;  // that compute, in the order of their layers
  uint32_t gpu_layers = 0;                 // most of a slice on all of them; 0: as many as fit
  std::vector<DrafterDescription> drafters = {};

  bool operator==(const Description&) const = default;
};

// A slice that the node computes, or is about to.
struct SliceStatus {
  uint64_t route = 0;
  std::string model;  // for people; may be empty
  Hash128 fingerprint;
  LayerRange layers;
  bool embedding = false;
  bool head = false;
  bool is_ready = false;    // else it is loading
  uint64_t done_bytes = 0;  // loaded or fetched
  uint64_t total_bytes = 0;
  uint64_t weight_bytes = 0;
  uint64_t kv_held_bytes = 0;
  uint64_t kv_budget_bytes = 0;
  uint32_t sequences = 0;
  uint32_t queued_frames = 0;
  uint64_t frames = 0;  // computed
  uint64_t tokens = 0;
  uint64_t queue_ns = 0;
  uint64_t compute_ns = 0;
  uint64_t bytes_out = 0;
  uint32_t gpu_layers = 0;  // of these layers, the last ones

  bool operator==(const SliceStatus&) const = default;
};

// The way to another node, as this one measured it.
struct LinkStatus {
  NodeId peer;
  bool is_up = false;
  uint64_t round_trip_ns = 0;  // 0: not measured
  double bytes_per_s = 0;      // 0: not measured
  uint64_t sent_bytes = 0;
  uint64_t received_bytes = 0;

  bool operator==(const LinkStatus&) const = default;
};

// The KV cache on the node's disk; its counts are since the node began.
struct DiskCacheStatus {
  uint64_t bytes = 0;
  uint64_t bytes_limit = 0;
  uint64_t files = 0;
  uint64_t loaded_tokens = 0;
  uint64_t loaded_bytes = 0;
  uint64_t looked_for_pages = 0;  // that memory did not have
  uint64_t found_pages = 0;       // of those

  bool operator==(const DiskCacheStatus&) const = default;
};

// What frames of a slice took on the node lately; times of 0 are not known.
struct WorkRate {
  // A typical frame.
  struct Times {
    uint64_t ns = 0;
    uint32_t rows = 0;
    uint32_t context = 0;    // tokens of the text up to its end
    uint64_t waited_ns = 0;  // beside `ns`, for the other nodes of its group

    double tokens_per_s() const {
      return ns == 0 ? 0 : 1e9 * static_cast<double>(rows) / static_cast<double>(ns);
    }
    bool operator==(const Times&) const = default;
  };

  std::string model;  // for people; may be empty
  Hash128 fingerprint;
  LayerRange layers;
  bool head = false;
  // The node's part of what a group computes of these layers; 1: it computes them by itself.
  double part = 1;
  Times decode;   // a frame of one row
  Times prefill;  // a long frame of a prompt

  bool operator==(const WorkRate&) const = default;
};

// Of a machine, all of its batteries together.
struct Battery {
  double charge = 0;  // from 0 to 1
  bool discharges = false;

  bool operator==(const Battery&) const = default;
};

struct NodeStatus {
  NodeId node;
  std::string name;
  uint64_t uptime_ms = 0;
  uint64_t memory_used_bytes = 0;  // by slices
  std::vector<SliceStatus> slices;
  std::vector<LinkStatus> links;
  std::vector<Member> members;  // as this node sees them, itself first
  std::optional<DiskCacheStatus> disk_cache;
  std::vector<WorkRate> rates;  // by model and slice
  bool is_drained = false;      // front ends are to give it no layers
  uint32_t leaving = 0;         // front ends that still have layers or KV rows here, once it is
  // Threads of all programs that wanted to compute, a mean of the last minute; 0: not known too.
  double load = 0;
  std::optional<Battery> battery = {};

  bool operator==(const NodeStatus&) const = default;
};

}  // namespace aster::cluster
