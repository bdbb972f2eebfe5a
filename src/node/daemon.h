// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The daemon of `aster node`: a node of a cluster, from its identity to the slices it computes.
// Must not know the command line, nor the front ends' routes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/mutex.h"
#include "cluster/description.h"
#include "cluster/home.h"
#include "cluster/identity.h"
#include "discovery/discovery.h"
#include "disk/disk_pages.h"
#include "drafting/draft_node.h"
#include "drafting/load_drafter.h"
#include "engine/machine_speed.h"
#include "fetch/fetching_slice_source.h"
#include "fetch/tensor_store.h"
#include "net/path_rates.h"
#include "net/tcp_network.h"
#include "node/control_answers.h"
#include "node/drain.h"
#include "node/held_models.h"
#include "node/link_meter.h"
#include "node/membership.h"
#include "node/self_meter.h"
#include "node/standby.h"
#include "node/weight_offers.h"
#include "rpc/control_server.h"
#include "stage/file_slice_source.h"
#include "stage/layer_meter.h"
#include "stage/node.h"

namespace aster::node {

struct DaemonOptions {
  std::string version;  // of the program
  // The file, or files, of each model.
  std::vector<std::vector<std::string>> models;
  std::string listen = ":7424";
  std::string advertise;              // a host; empty: those of the interfaces
  std::vector<std::string> join;      // HOST:PORT of nodes of the cluster
  uint64_t memory_bytes = 0;          // for slices; 0: 15/16 of the machine's
  engine::GpuLayers gpu_layers = {};  // of each slice
  engine::OpenGpus open_gpus = {};
  size_t threads = 0;
  bool kv_now = false;         // allocate the KV cache when a slice is loaded
  std::string weights_folder;  // for weights of other machines; empty: the user's cache
  std::function<void(uint64_t done_bytes, uint64_t total_bytes)> on_hashing;
  std::shared_ptr<disk::DiskPages> pages;     // the KV cache on disk; null: none
  std::string sessions_folder;                // for sessions moved here; empty: takes none
  std::optional<uint16_t> discovery_port;     // of multicast DNS; nullopt: off
  std::vector<drafting::DraftFor> draft_for;  // drafters for front ends on other machines
  std::string pages_folder;                   // page files, for look-ups; empty: none
  bool keeps_standby = false;                 // keep weights of layers that only one other node has
  bool measure = true;  // measure the machine's rates for plans; takes seconds at most
};

class Daemon {
 public:
  // Reads the home and its identity; the home outlives the daemon.
  static Result<std::unique_ptr<Daemon>> Start(const cluster::Home& home, DaemonOptions options);
  // Tells the other nodes that this one leaves, and ends after the frame in progress.
  ~Daemon();

  const cluster::Identity& identity() const { return identity_; }
  // As of the start.
  const std::vector<std::string>& control_addresses() const { return control_addresses_; }
  cluster::Description Describe() const;
  cluster::NodeStatus GetStatus() const;

 private:
  Daemon(const cluster::Home& home, cluster::Identity identity, DaemonOptions options,
         std::string weights_folder);
  stage::FileSliceOptions SliceOptions() const;
  Status OpenModels(ThreadPool& pool);
  Status MeasureMachine(ThreadPool& pool);
  void MeasureModels();
  Status MeasureAgain();
  Status LoadDrafters();
  void MeasureGpus(compute::Context& host);
  Status Listen();
  Status StartStandby();
  // Bytes received over the data plane.
  uint64_t ReceivedFrom(const cluster::NodeId& node) const;
  Status KeepForOthers(const StandbySlice& wanted, const std::stop_token& stop);
  Status BeFound();
  Result<OwnAddresses> Reachable() const;
  std::vector<std::shared_ptr<fetch::WeightPeer>> PeersToFetchFrom(
      const Hash128& fingerprint) const;
  std::string NameOfModel(const Hash128& fingerprint) const EXCLUDES(names_mu_);
  size_t FrontEndsHere(std::span<const stage::StageRouteStatus> stages) const;

  const cluster::Home& home_;
  std::optional<FileLock> lock_;  // one node per machine; released last
  const cluster::Identity identity_;
  const DaemonOptions options_;
  SystemClock clock_;
  const int64_t begin_ns_ = clock_.NowNs();
  engine::MachineSpeed speed_;                // as measured at the start
  std::vector<stage::WorkRate> model_rates_;  // of its files, as measured at the start
  std::vector<cluster::DeviceDescription> devices_;
  std::optional<std::vector<uint64_t>> gpu_bytes_;  // FileSliceOptions::gpu_bytes
  HeldModels models_;
  std::optional<stage::FileSliceSource> files_;  // made once GPUs are known
  fetch::TensorStore store_;
  std::unique_ptr<Membership> membership_;
  const std::shared_ptr<net::PathRates> path_rates_ = std::make_shared<net::PathRates>();
  std::unique_ptr<LinkMeter> links_;
  std::unique_ptr<SelfMeter> self_meter_;   // null: none
  std::unique_ptr<SessionInbox> sessions_;  // null: none
  WeightOffers offers_;
  mutable Drain drain_{identity_.node, identity_.ca_certificate};
  std::unique_ptr<ControlAnswers> answers_;
  std::unique_ptr<net::TcpNetwork> network_;  // asks control_answers which nodes to accept
  std::unique_ptr<fetch::FetchingSliceSource> source_;
  std::unique_ptr<rpc::ControlServer> server_;
  std::vector<drafting::OwnDrafter> drafters_;     // moved to drafting_ once there is a network
  std::unique_ptr<drafting::DraftNode> drafting_;  // null: none
  std::unique_ptr<stage::Node> node_;
  std::unique_ptr<Standby> standby_;                 // null: none
  std::unique_ptr<discovery::Discovery> discovery_;  // null: none
  std::vector<std::string> control_addresses_;
  mutable Mutex names_mu_;
  mutable std::map<Hash128, std::string> fetched_names_ GUARDED_BY(names_mu_);
};

}  // namespace aster::node
