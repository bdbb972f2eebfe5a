// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Machines of a simulated cluster that draft for front ends. They fail and return like other
// machines, and some lie, flood, stay silent or have another vocabulary. Everything follows from
// the seed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "drafting/draft_server.h"
#include "drafting/remote_proposers.h"
#include "sim_network.h"
#include "sim_oracle.h"

namespace aster::sim {

class SimDrafters {
 public:
  // The arguments must outlive it. Honest drafters draft what the prophet predicts.
  SimDrafters(uint64_t seed, bool is_calm, uint32_t vocab_size, VirtualClock& clock, SimHub& hub,
              OracleDrafter& oracle);
  ~SimDrafters();

  // A source of all these drafters' tokens for a front end on this network. It reports why it
  // leaves out a drafter.
  std::unique_ptr<drafting::RemoteProposers> ProposersFor(net::Network& network);
  // How often each complaint about a drafter was made. (A drafter's name says how it behaves.)
  const std::map<std::string, uint64_t>& complaints() const { return complaints_; }
  int64_t next_ns() const;
  void Run();

 private:
  struct Machine;

  void Flood(Machine& machine, const net::Event& event);
  void Boot(Machine& machine);
  void Kill(Machine& machine, int64_t away_ns);

  const drafting::Vocabulary vocabulary_;
  Random random_;
  VirtualClock& clock_;
  SimHub& hub_;
  OracleDrafter& oracle_;
  std::unique_ptr<engine::ProposerSource> wrong_drafter_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::map<std::string, uint64_t> complaints_;  // by front end, drafter and reason
};

}  // namespace aster::sim
