// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Hundreds of small clusters on a simulated network that loses exchanges, is partitioned, and kills
// and restarts nodes with empty memory. Soon after the faults end, all living nodes agree on who
// lives.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sanitized.h"
#include "cluster/membership_state.h"

namespace aster::cluster {
namespace {

constexpr int64_t kStepNs = 100 * kNsPerMs;
constexpr uint64_t kSeeds = kSanitized ? 100 : 400;

class Simulation {
 public:
  explicit Simulation(uint64_t seed, size_t node_count = 0)
      : random_(seed, 99), node_count_(node_count > 0 ? node_count : 2 + random_.NextBelow(7)) {
    for (size_t i = 0; i < node_count_; ++i) {
      nodes_.emplace_back();
      sides_.push_back(0);
      Start(i);
    }
  }

  // Steps with faults.
  void RunWithFaults(int steps) {
    for (int i = 0; i < steps; ++i) {
      if (random_.NextBelow(20) == 0) BreakSomething();
      Step();
    }
  }

  // No faults from now on. At least one node lives.
  void Calm() {
    loss_percent_ = 0;
    sides_.assign(node_count_, 0);
    if (LivingCount() == 0) Start(0);
  }

  // The steps until all agree and no node changes its view for ten seconds; nullopt if that takes
  // more than `limit`.
  std::optional<int> StepsToAgree(int limit) {
    int agreed_since = -1;
    for (int i = 0; i < limit; ++i) {
      Step();
      if (!AllAgree()) agreed_since = -1;
      if (AllAgree() && agreed_since < 0) agreed_since = i;
      if (agreed_since >= 0 && i - agreed_since >= 100) return agreed_since;
    }
    return std::nullopt;
  }

  void Kill(size_t index) { nodes_[index].reset(); }

  size_t LivingCount() const {
    return static_cast<size_t>(
        std::ranges::count_if(nodes_, [](const auto& node) { return node != nullptr; }));
  }

  std::string Describe() const {
    std::string text;
    for (size_t i = 0; i < node_count_; ++i) {
      text += "node " + std::to_string(i) + ":";
      if (nodes_[i] == nullptr) text += " down";
      if (nodes_[i] != nullptr) {
        for (const auto& [id, view] : nodes_[i]->others()) {
          text += " " + view.member.name + "=" + std::string(MemberStateName(view.member.state)) +
                  "/" + std::to_string(view.member.incarnation);
        }
      }
      text += "\n";
    }
    return text;
  }

 private:
  static std::string AddressOf(size_t index) { return "10.0.0.1:" + std::to_string(1 + index); }

  void Start(size_t index) {
    Member self;
    self.node = {{.low = index + 1, .high = 3}};
    self.name = "n" + std::to_string(index);
    self.control_addresses = {AddressOf(index)};
    // Clocks are sometimes wrong: a later incarnation may have a lower number.
    self.incarnation = 1 + random_.NextBelow(1000);
    nodes_[index] =
        std::make_unique<MembershipState>(self, MembershipOptions(), random_.NextU64(), now_ns_);
    // A restarted node keeps only addresses.
    for (size_t i = 0; i < node_count_; ++i) nodes_[index]->AddSeed(AddressOf(i));
  }

  void BreakSomething() {
    const size_t index = random_.NextBelow(node_count_);
    switch (random_.NextBelow(5)) {
      case 0:
        nodes_[index].reset();
        break;
      case 1:
        Start(index);
        break;
      case 2:
        for (size_t& side : sides_) side = random_.NextBelow(2);
        break;
      case 3:
        sides_.assign(node_count_, 0);
        break;
      default:
        loss_percent_ = random_.NextBelow(60);
    }
  }

  void Step() {
    now_ns_ += kStepNs;
    for (size_t i = 0; i < node_count_; ++i) {
      if (nodes_[i] == nullptr || nodes_[i]->next_tick_ns() > now_ns_) continue;
      for (const Contact& contact : nodes_[i]->Tick(now_ns_)) Exchange(i, contact);
    }
  }

  void Exchange(size_t from, const Contact& contact) {
    for (size_t to = 0; to < node_count_; ++to) {
      if (contact.addresses.front() != AddressOf(to) || to == from) continue;
      const bool lost = random_.NextBelow(100) < loss_percent_;
      const NodeId asked{{.low = to + 1, .high = 3}}, asking{{.low = from + 1, .high = 3}};
      if (nodes_[to] == nullptr || sides_[to] != sides_[from] || lost)
        return nodes_[from]->Unanswered(asked, now_ns_);
      const MemberTalk question = nodes_[from]->MakeGossip(now_ns_);
      Take(to, asking, question);
      // The reply may be lost though the request arrived.
      if (random_.NextBelow(100) < loss_percent_) return nodes_[from]->Unanswered(asked, now_ns_);
      const MemberTalk answer = nodes_[to]->Answer(question.buckets, now_ns_);
      Take(from, asked, answer);
      if (nodes_[from]->Differs(answer.buckets))
        Take(to, asking, nodes_[from]->Answer(answer.buckets, now_ns_));
    }
  }

  void Take(size_t index, const NodeId& from, const MemberTalk& talk) {
    ASSERT_TRUE(nodes_[index]->Merge(talk.members, now_ns_).ok());
    nodes_[index]->Reached(from);
    nodes_[index]->TakeDoubts(talk.members, now_ns_);
  }

  bool AllAgree() const {
    for (size_t i = 0; i < node_count_; ++i) {
      if (nodes_[i] == nullptr) continue;
      size_t seen = 1;
      for (const auto& [id, view] : nodes_[i]->others()) {
        const size_t index = static_cast<size_t>(id.value.low - 1);
        const bool alive = view.member.state == MemberState::kAlive;
        if (alive != (nodes_[index] != nullptr)) return false;
        if (!alive && view.member.state != MemberState::kDead) return false;
        seen += alive;
        if (alive && view.member.incarnation != nodes_[index]->self().incarnation) return false;
      }
      if (seen != LivingCount()) return false;
    }
    return true;
  }

  Random random_;
  const size_t node_count_;
  int64_t now_ns_ = 0;
  uint64_t loss_percent_ = 0;
  std::vector<std::unique_ptr<MembershipState>> nodes_;  // null: down
  std::vector<size_t> sides_;                            // of a network partition
};

TEST(MembershipSimulation, AllNodesAgreeSoonAfterFaultsEnd) {
  int worst = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Simulation simulation(seed);
    simulation.RunWithFaults(600);
    simulation.Calm();
    // A silent node is dead after five seconds; the rest is for spreading the news.
    const std::optional<int> steps = simulation.StepsToAgree(600);
    ASSERT_TRUE(steps) << "seed " << seed << "\n" << simulation.Describe();
    worst = std::max(worst, *steps);
  }
  RecordProperty("worst_tenths_of_a_second", worst);
}

TEST(MembershipSimulation, NoNodeIsSuspectedWithoutFaults) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Simulation simulation(seed);
    const std::optional<int> steps = simulation.StepsToAgree(400);
    ASSERT_TRUE(steps) << "seed " << seed;
    EXPECT_LE(*steps, 60) << "seed " << seed;
  }
}

TEST(MembershipSimulation, ThirtyNodesAgreeSoonAfterFaultsEnd) {
  for (uint64_t seed = 1; seed <= kSeeds / 40; ++seed) {
    Simulation simulation(seed, 30);
    simulation.RunWithFaults(600);
    simulation.Calm();
    ASSERT_TRUE(simulation.StepsToAgree(900)) << "seed " << seed << "\n" << simulation.Describe();
  }
}

TEST(MembershipSimulation, SixtyNodesKnowOfADeathWithinTenSecondsAndSuspectNoOther) {
  Simulation simulation(7, 60);
  ASSERT_TRUE(simulation.StepsToAgree(300)) << simulation.Describe();
  simulation.Kill(11);
  const std::optional<int> steps = simulation.StepsToAgree(300);
  ASSERT_TRUE(steps) << simulation.Describe();
  EXPECT_LE(*steps, 100) << "steps of a tenth of a second";
}

}  // namespace
}  // namespace aster::cluster
