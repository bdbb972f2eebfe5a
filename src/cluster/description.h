// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A node's description of itself: its hardware and models, which seldom change, and its present
// state. Plain values. Must not know how they are sent, nor where they come from.
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
  std::string name;  // for users: the file's, or the model's own
  std::string architecture;
  uint32_t layer_count = 0;
  std::vector<LayerRange> layers;  // that are here, ascending
  bool embedding = false;
  bool head = false;
  uint64_t tensor_bytes = 0;  // of these layers

  bool is_whole() const {
    return embedding && head && layers.size() == 1 && layers.front() == LayerRange{0, layer_count};
  }

  bool operator==(const HeldModel&) const = default;
};

// A GPU that computes layers of the node's slices: behind a bus, and mostly with memory of its own.
struct DeviceDescription {
  std::string name;
  uint64_t memory_bytes = 0;        // for layers
  double multiply_flops_per_s = 0;  // measured like the node's; 0: not yet
  double memory_bytes_per_s = 0;
  uint64_t bus_round_trip_ns = 0;  // of a row there and back; 0: not measured
  double bus_bytes_per_s = 0;      // 0: not measured
  bool shares_memory = false;      // its memory is the node's main memory

  bool operator==(const DeviceDescription&) const = default;
};

// A drafter that the node has for others (docs/speculation.md).
struct DrafterDescription {
  std::string model;        // that it drafts for; for users
  std::string drafter;      // "ngram", or a draft model's name
  Hash128 fingerprint;      // of the draft model; zeros: n-gram lookup
  Hash128 vocabulary;       // it drafts for every model with this one
  double tokens_per_s = 0;  // for one text; 0: not measured

  bool operator==(const DrafterDescription&) const = default;
};

struct Description {
  NodeId node;
  std::string name;
  std::string version;    // of the program
  uint32_t protocol = 0;  // the newest of the data plane; 0: unknown
  uint32_t arithmetic = 0;
  uint32_t core_count = 0;  // cores that compute
  std::string instruction_set;
  uint64_t memory_bytes = 0;        // for all slices together
  uint64_t memory_total_bytes = 0;  // of the machine
  double multiply_flops_per_s = 0;  // measured with matrix products as in prefill; 0: not yet
  double memory_bytes_per_s = 0;    // measured with weights as decode reads them; 0: not yet
  std::vector<HeldModel> models;
  std::vector<DeviceDescription> devices;  // that compute, in the order of their layers
  uint32_t gpu_layers = 0;                 // the most of a slice on all of them; 0: as many as fit
  std::vector<DrafterDescription> drafters = {};

  bool operator==(const Description&) const = default;
};

// A slice that the node computes, or prepares.
struct SliceStatus {
  uint64_t route = 0;
  std::string model;  // for users; may be empty
  Hash128 fingerprint;
  LayerRange layers;
  bool embedding = false;
  bool head = false;
  bool is_ready = false;    // false: it is loading
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
  uint32_t gpu_layers = 0;  // the last ones of these layers

  bool operator==(const SliceStatus&) const = default;
};

// The link from another node, as this one measured it.
struct LinkStatus {
  NodeId peer;
  bool is_up = false;
  uint64_t round_trip_ns = 0;  // 0: not measured
  double bytes_per_s = 0;      // 0: not measured
  uint64_t sent_bytes = 0;
  uint64_t received_bytes = 0;

  bool operator==(const LinkStatus&) const = default;
};

// The KV cache on the node's disk; counts are since the node's start.
struct DiskCacheStatus {
  uint64_t bytes = 0;
  uint64_t bytes_limit = 0;
  uint64_t files = 0;
  uint64_t loaded_tokens = 0;
  uint64_t loaded_bytes = 0;
  uint64_t looked_for_pages = 0;  // that were not in memory
  uint64_t found_pages = 0;       // of these

  bool operator==(const DiskCacheStatus&) const = default;
};

// Recent times of a slice's frames on the node; 0: unknown.
struct WorkRate {
  // A typical frame.
  struct Times {
    uint64_t ns = 0;
    uint32_t rows = 0;
    uint32_t context = 0;    // tokens of the text up to its end
    uint64_t waited_ns = 0;  // in addition to `ns`, for the other nodes of its group

    double tokens_per_s() const {
      return ns == 0 ? 0 : 1e9 * static_cast<double>(rows) / static_cast<double>(ns);
    }
    bool operator==(const Times&) const = default;
  };

  std::string model;  // for users; may be empty
  Hash128 fingerprint;
  LayerRange layers;
  bool head = false;
  // The node's share of a group's work on these layers; 1: it computes alone.
  double part = 1;
  Times decode;   // a frame of one row
  Times prefill;  // a long frame of a prompt

  bool operator==(const WorkRate&) const = default;
};

// All batteries of a machine together.
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
  std::vector<WorkRate> rates;  // per model and slice
  bool is_drained = false;      // front ends must give it no layers
  uint32_t leaving = 0;         // if drained: front ends that still have layers or KV rows here
  // Runnable threads of all programs, mean of the last minute; 0: also unknown.
  double load = 0;
  std::optional<Battery> battery = {};

  bool operator==(const NodeStatus&) const = default;
};

}  // namespace aster::cluster
