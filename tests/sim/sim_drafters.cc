// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "sim_drafters.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace aster::sim {
namespace {

constexpr uint64_t kFirst = 200;
constexpr Hash128 kDrafter{5, 6};
// More messages than a drafter may send in reply to one.
constexpr int kFlood = 64;

// The names of Machine::Manner.
constexpr const char* kBehaviourNames[] = {"honest", "liar", "flooder", "silent", "stranger"};

// Drafts an id that is not in the vocabulary.
class WrongDrafter final : public engine::ProposerSource {
 public:
  explicit WrongDrafter(uint32_t vocab_size) : vocab_size_(vocab_size) {}
  Result<std::unique_ptr<engine::Proposer>> Make(const engine::Request& /*request*/) override {
    return std::make_unique<Proposer>(static_cast<int32_t>(vocab_size_));
  }

 private:
  class Proposer final : public engine::Proposer {
   public:
    explicit Proposer(int32_t lie) : lie_(lie) {}
    Status Propose(std::span<const int32_t> /*history*/, uint32_t most,
                   std::vector<int32_t>& drafts) override {
      drafts.assign(most, lie_);
      return Ok();
    }

   private:
    const int32_t lie_;
  };

  const uint32_t vocab_size_;
};

}  // namespace

struct SimDrafters::Machine {
  // How the drafter misbehaves.
  enum class Behaviour : uint8_t { kHonest, kLies, kFloods, kIsSilent, kIsStranger };

  wire::NodeId id;
  Behaviour behaviour = Behaviour::kHonest;
  std::unique_ptr<SimNetwork> network;
  std::unique_ptr<drafting::DraftServer> server;  // null while the machine is down
  std::vector<net::Event> inbox;
  int64_t busy_until_ns = 0;
  int64_t dies_ns = kNeverNs;
  int64_t away_ns = 0;  // how long it is down then
  int64_t returns_ns = kNeverNs;
};

SimDrafters::SimDrafters(uint64_t seed, bool is_calm, uint32_t vocab_size, VirtualClock& clock,
                         SimHub& hub, OracleDrafter& oracle)
    : vocabulary_{.digest = {3, 4}, .size = vocab_size},
      random_(seed),
      clock_(clock),
      hub_(hub),
      oracle_(oracle),
      wrong_drafter_(std::make_unique<WrongDrafter>(vocab_size)) {
  for (uint64_t i = 0; i < 1 + random_.NextBelow(2); ++i) {
    Machine& machine = *machines_.emplace_back(std::make_unique<Machine>());
    machine.id = wire::NodeId{Hash128{kFirst + i, kFirst + i}};
    // Half of them are honest.
    machine.behaviour = static_cast<Machine::Behaviour>(std::max<int64_t>(
        0, static_cast<int64_t>(random_.NextBelow(2 * std::size(kBehaviourNames) - 2)) - 3));
    machine.network = std::make_unique<SimNetwork>(hub_, machine.id);
    if (!is_calm && random_.NextBelow(2) == 0) {
      machine.dies_ns = static_cast<int64_t>(random_.NextBelow(500)) * kNsPerMs;
      machine.away_ns = static_cast<int64_t>(1 + random_.NextBelow(3000)) * kNsPerMs;
    }
    Boot(machine);
  }
}

SimDrafters::~SimDrafters() = default;

void SimDrafters::Boot(Machine& machine) {
  machine.returns_ns = kNeverNs;
  const bool is_wrong = machine.behaviour == Machine::Behaviour::kLies;
  engine::ProposerSource* const source = is_wrong ? wrong_drafter_.get() : &oracle_;
  // A liar claims the common vocabulary, but checks its draft tokens against a larger one.
  drafting::Vocabulary vocabulary = vocabulary_;
  if (is_wrong) ++vocabulary.size;
  if (machine.behaviour == Machine::Behaviour::kIsStranger) ++vocabulary.digest.low;
  machine.server = std::make_unique<drafting::DraftServer>(
      *machine.network, std::vector<drafting::Drafter>{{.name = kDrafter,
                                                        .vocabulary = vocabulary,
                                                        .kind = engine::DraftKind::kModel,
                                                        .source = source}});
  hub_.Add(machine.id, [&machine](net::Event event) { machine.inbox.push_back(std::move(event)); });
}

void SimDrafters::Kill(Machine& machine, int64_t away_ns) {
  hub_.Remove(machine.id);
  machine.server.reset();
  machine.inbox.clear();
  machine.dies_ns = kNeverNs;
  machine.busy_until_ns = 0;
  machine.returns_ns = clock_.NowNs() + away_ns;
}

// Sends many messages in reply to one: they repeat draft tokens, or those are too late to be of
// use.
void SimDrafters::Flood(Machine& machine, const net::Event& event) {
  const auto* const begin = std::get_if<wire::BeginDraft>(&event.message);
  const auto* const follow = std::get_if<wire::FollowDraft>(&event.message);
  if (event.kind != net::Event::Kind::kMessage || (begin == nullptr && follow == nullptr)) return;
  wire::DraftTokens drafts;
  drafts.draft = begin != nullptr ? begin->draft : follow->draft;
  drafts.begin = begin != nullptr ? static_cast<uint32_t>(begin->tokens.size()) : follow->begin;
  drafts.tokens = {1, 2, 3};
  for (int i = 0; i < kFlood; ++i) {
    static_cast<void>(machine.network->Send(event.from, drafts));
  }
}

std::unique_ptr<drafting::RemoteProposers> SimDrafters::ProposersFor(net::Network& network) {
  std::vector<drafting::RemoteDrafter> drafters;
  for (const auto& machine : machines_) {
    drafters.push_back(
        {.node = machine->id,
         .name = fmt::format("{} {}", kBehaviourNames[static_cast<size_t>(machine->behaviour)],
                             machine->id.value.low),
         .addresses = {},
         .drafter = kDrafter});
  }
  return std::make_unique<drafting::RemoteProposers>(
      &network, std::move(drafters),
      drafting::RemoteOptions{
          .vocabulary = vocabulary_,
          .warn = [this, front = network.self().value.low](const std::string& why) {
            ++complaints_[fmt::format("{}: {}", front, why)];
          }});
}

int64_t SimDrafters::next_ns() const {
  int64_t next_ns = kNeverNs;
  for (const auto& machine : machines_) {
    next_ns = std::min({next_ns, machine->dies_ns, machine->returns_ns});
    if (!machine->server) continue;
    const bool has_work = !machine->inbox.empty() || machine->server->has_work();
    if (has_work) next_ns = std::min(next_ns, machine->busy_until_ns);
  }
  return next_ns;
}

void SimDrafters::Run() {
  for (const auto& machine : machines_) {
    if (machine->returns_ns <= clock_.NowNs()) Boot(*machine);
    if (machine->dies_ns <= clock_.NowNs()) Kill(*machine, machine->away_ns);
    if (!machine->server || machine->busy_until_ns > clock_.NowNs()) continue;
    for (const net::Event& event : std::exchange(machine->inbox, {})) {
      if (machine->behaviour == Machine::Behaviour::kIsSilent) continue;
      if (machine->behaviour == Machine::Behaviour::kFloods) Flood(*machine, event);
      machine->server->Handle(event);
    }
    if (!machine->server->has_work()) continue;
    const auto cost_ns = static_cast<int64_t>(random_.NextBelow(1000)) * kNsPerUs;
    hub_.SetSendDelay(cost_ns);
    machine->server->Work();
    hub_.SetSendDelay(0);
    machine->busy_until_ns = clock_.NowNs() + cost_ns;
  }
}

}  // namespace aster::sim
