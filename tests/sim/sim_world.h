// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The simulation of one seed: real stage servers and a real conductor, conversations that continue
// or go back, requests that are cancelled, and failures of all kinds, until every request has
// ended. Answers are compared with those of one machine. In some seeds further conductors quantise
// KV rows on their way: their answers are their own, and these rows never reach the first
// conductor. Everything follows from the seed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "conduct/conductor.h"
#include "drafting/remote_proposers.h"
#include "engine/request.h"
#include "engine/sequence.h"
#include "sim_drafters.h"
#include "sim_network.h"
#include "sim_oracle.h"
#include "stage/slice_source_for_test.h"
#include "stage/stage_server.h"

namespace aster::sim {

// The result of a seed.
struct SimResult {
  Hash128 trace;
  std::vector<std::string> lines;   // of the trace, if kept
  std::vector<std::string> errors;  // none: all is as it must be
  size_t answered = 0;
  size_t failed = 0;  // with a clean error
  size_t cancelled = 0;
  size_t continued = 0;        // after they had failed
  size_t narrow_answered = 0;  // of these, with rows in fewer bits on their way
  size_t narrow_equal = 0;     // and what one machine says
  uint64_t replans = 0;
  uint64_t replayed = 0;
  uint64_t preempted = 0;
  uint64_t fetched = 0;         // tokens that others remembered
  uint64_t narrow_fetched = 0;  // of them, in fewer bits
  uint64_t given_up = 0;        // fetches
  engine::DraftCounts drafts;
  uint64_t frames_ahead = 0;  // of draft tokens that follow draft tokens in flight
  uint64_t frames_cancelled = 0;
  uint64_t remote_drafts = 0;                  // draft tokens that came from other machines
  uint64_t remote_drafts_accepted = 0;         // of them
  uint64_t remote_left_out = 0;                // drafters that are left out at the end
  std::map<std::string, uint64_t> complaints;  // about them (SimDrafters::complaints)
};

class World {
 public:
  World(uint64_t seed, bool keep_lines);
  ~World();

  SimResult Run();

 private:
  // A machine of the cluster. Its network outlives its server.
  struct Machine {
    wire::NodeId id;
    std::unique_ptr<SimNetwork> network;
    std::unique_ptr<stage::StageServer> server;  // null while the machine is down
    std::vector<net::Event> inbox;
    int64_t busy_until_ns = 0;
    uint32_t slowness = 1;
    int64_t returns_ns = kNeverNs;
  };
  // A program that sends requests to the machines.
  struct Front {
    bool is_narrow = false;  // KV rows travel in fewer bits
    std::unique_ptr<SimNetwork> network;
    std::unique_ptr<drafting::RemoteProposers> drafts;  // or null
    std::unique_ptr<conduct::Conductor> conductor;
  };
  struct Client {
    Front* front = nullptr;  // that is asked
    engine::Request request;
    std::vector<int32_t> prompt;
    std::optional<engine::Sequence> sequence;
    std::vector<int32_t> expected;
    std::vector<int32_t> answer;
    std::optional<engine::Finish> finish;
    engine::RequestId id = 0;
    int64_t arrives_ns = 0;
    int64_t cancel_ns = kNeverNs;
    bool is_submitted = false;
    bool is_cancelled = false;
    uint32_t rounds = 1;  // requests on the same sequence, one after the other
  };
  struct Fault {
    int64_t at_ns = 0;
    std::function<void()> happens;
  };

  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_.NextBelow(bound)); }
  bool Chance(uint32_t one_of) { return Below(one_of) == 0; }
  int64_t Milliseconds(uint32_t bound) { return int64_t{1 + Below(bound)} * kNsPerMs; }

  void AddMachine(uint64_t number);
  void AddFront(uint64_t number, const conduct::ConductorOptions& options);
  void AddClient();
  void AddFaults();
  void Kill(size_t index, int64_t away_ns);
  void Boot(Machine& machine);
  uint32_t CutFrom(uint32_t layer);
  bool CanShareLayers();
  std::vector<plan::PlanStage> RandomPath(const std::vector<size_t>& among);
  plan::Plan GroupPlan(const std::vector<size_t>& among);
  plan::Plan RandomPlan(const std::vector<size_t>& among, bool is_narrow);
  Result<plan::Plan> Replan(std::span<const wire::NodeId> lost, bool is_narrow);
  std::vector<int32_t> Expected(const Client& client);

  void RunUntilFinished();
  int64_t NextNs() const;
  void RunMachine(Machine& machine);
  void RunClients();
  void Submit(Client& client);
  void NextRound(Client& client);
  static bool IsAsExpected(const Client& client);
  void Check(Client& client, SimResult& result);
  void ContinueFailed(SimResult& result);
  void AddError(const std::string& what) { errors_.push_back(what); }

  plan::TestModel& model_;
  Random random_;
  OracleDrafter oracle_;
  VirtualClock clock_;
  Trace trace_;
  SimHub hub_;
  bool is_calm_;   // nothing breaks
  bool gives_up_;  // the replanner may find no plan
  model::MemoryOptions memory_;
  uint64_t kv_bytes_;
  stage::TestSliceSource source_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::unique_ptr<SimDrafters> drafters_;  // or null
  std::vector<std::unique_ptr<Front>> fronts_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::vector<int32_t>> beginnings_;
  std::vector<Fault> faults_;
  engine::DraftCounts drafts_;
  std::vector<std::string> errors_;
};

}  // namespace aster::sim
