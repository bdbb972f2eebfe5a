// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Machines of a simulated cluster that draft for front ends, which come and go like other machines,
// and some of which lie. The seed alone decides what happens.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "drafting/draft_server.h"
#include "drafting/remote_proposers.h"
#include "sim_network.h"
#include "sim_prophet.h"

namespace aster::sim {

class SimDrafters {
 public:
  // What is given outlives it. Those that do not lie draft what the prophet says.
  SimDrafters(uint64_t seed, bool is_calm, uint32_t vocab_size, VirtualClock& clock, SimHub& hub,
              Prophet& prophet);
  ~SimDrafters();

  // What a front end on this network is offered by them.
  std::unique_ptr<drafting::RemoteProposers> ProposersFor(net::Network& network) const;
  int64_t next_ns() const;
  void Run();

 private:
  struct Machine;

  void Boot(Machine& machine);
  void Kill(Machine& machine, int64_t away_ns);

  const drafting::Vocabulary vocabulary_;
  Random random_;
  VirtualClock& clock_;
  SimHub& hub_;
  Prophet& prophet_;
  std::unique_ptr<engine::ProposerSource> liar_;
  std::vector<std::unique_ptr<Machine>> machines_;
};

}  // namespace aster::sim
