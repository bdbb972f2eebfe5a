// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Machines of a simulated cluster that draft for front ends, which come and go like other machines,
// and some of which lie, flood, say nothing or have another vocabulary. The seed alone decides what
// happens.
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
  // What is given outlives it. Those that are honest draft what the oracle says.
  SimDrafters(uint64_t seed, bool is_calm, uint32_t vocab_size, VirtualClock& clock, SimHub& hub,
              OracleDrafter& oracle);
  ~SimDrafters();

  // What a front end on this network is offered by them; it says why it leaves out any of them.
  std::unique_ptr<drafting::RemoteProposers> ProposersFor(net::Network& network);
  // Of these, how often which was said. (A drafter's name says what it is like.)
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
