// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The membership of a large cluster on a virtual clock: its cost when nothing happens, and how fast
// news spread. `membership_sim --nodes 1000` takes minutes; docs/scale.md has its figures.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "cluster/membership_state.h"

namespace aster::cluster {
namespace {

constexpr int64_t kStepNs = 50 * kNsPerMs;
// How long a node waits for the answer of an unreachable machine (node/membership.cc).
constexpr int64_t kTimeoutNs = 3 * kNsPerSecond / 2;
constexpr size_t kSignatureBytes = 72;

size_t g_node_count = 80;  // --nodes

// The size of the record in protobuf.
size_t BytesOf(const Member& member) {
  size_t bytes = 3 + 20 + 2 + member.name.size() + 2 + kSignatureBytes + 6 + 4 + 3;
  for (const auto* addresses : {&member.control_addresses, &member.data_addresses}) {
    for (const std::string& address : *addresses) bytes += 2 + address.size();
  }
  return bytes;
}

size_t BytesOf(const MemberTalk& talk) {
  size_t bytes = 3 + 4 * talk.buckets.size();
  for (const Member& member : talk.members) bytes += BytesOf(member);
  return bytes;
}

class LargeCluster {
 public:
  enum class End { kRefuses, kIsSilent };

  LargeCluster(size_t node_count, uint64_t seed) : random_(seed, 5) {
    std::vector<Member> all;
    for (size_t i = 0; i < node_count; ++i) all.push_back(RecordOf(i));
    for (const Member& member : all) {
      nodes_.push_back(Begin(member));
      EXPECT_TRUE(nodes_.back()->Merge(all, 0).ok());
    }
    RunFor(10 * kNsPerSecond);
  }

  size_t size() const { return nodes_.size(); }
  int64_t now_ns() const { return now_ns_; }

  void RunFor(int64_t ns) {
    for (const int64_t end_ns = now_ns_ + ns; now_ns_ < end_ns;) Step();
  }

  // The time until `holds` returns true; nullopt after a minute.
  std::optional<int64_t> RunUntil(const std::function<bool()>& holds) {
    const int64_t begin_ns = now_ns_;
    while (now_ns_ - begin_ns < 60 * kNsPerSecond) {
      Step();
      if (holds()) return now_ns_ - begin_ns;
    }
    return std::nullopt;
  }

  void Kill(size_t index, End end) {
    ends_[index] = end;
    nodes_[index].reset();
  }

  // A new node that knows one other.
  size_t Join() {
    const size_t index = nodes_.size();
    nodes_.push_back(Begin(RecordOf(index)));
    nodes_.back()->AddSeed(AddressOf(random_.NextBelow(index)));
    return index;
  }

  // From now on neither reaches the other.
  void Cut(size_t a, size_t b) { cuts_ = {{a, b}, {b, a}}; }

  // All living nodes have this state for the node.
  bool AllSay(size_t index, MemberState state) const {
    return std::ranges::all_of(nodes_, [&](const auto& node) {
      if (node == nullptr || node->self().node == IdOf(index)) return true;
      const auto found = node->others().find(IdOf(index));
      return found != node->others().end() && found->second.member.state == state;
    });
  }

  // The number of pairs of living nodes of which the first believes that the second is not alive.
  size_t WrongViews() const {
    size_t wrong = 0;
    for (const auto& node : nodes_) {
      if (node == nullptr) continue;
      for (const auto& [id, view] : node->others())
        wrong += view.member.state != MemberState::kAlive && nodes_[IndexOf(id)] != nullptr;
    }
    return wrong;
  }

  // Bytes that a living node sent per second, on average, since the last call.
  double BytesPerNodeAndSecond() {
    const double seconds = static_cast<double>(now_ns_ - count_begin_ns_) / kNsPerSecond;
    const double rate = static_cast<double>(bytes_) / static_cast<double>(nodes_.size()) / seconds;
    bytes_ = 0;
    count_begin_ns_ = now_ns_;
    return rate;
  }

 private:
  struct Failure {
    int64_t at_ns;
    size_t from;
    NodeId to;
  };

  static NodeId IdOf(size_t index) {
    // Ids are hashes: neighbours in the ring have nothing in common.
    return {{.low = (index + 1) * 0x9E3779B97F4A7C15, .high = index + 1}};
  }
  static size_t IndexOf(const NodeId& node) { return static_cast<size_t>(node.value.high - 1); }
  static std::string AddressOf(size_t index) {
    return fmt::format("10.{}.{}.{}:7424", index >> 16, (index >> 8) & 255, index & 255);
  }
  static Member RecordOf(size_t index) {
    Member member;
    member.node = IdOf(index);
    member.name = fmt::format("node-{}", index);
    member.control_addresses = {AddressOf(index)};
    member.data_addresses = {AddressOf(index)};
    member.incarnation = 1;
    return member;
  }

  std::unique_ptr<MembershipState> Begin(const Member& self) {
    const auto offset = static_cast<int64_t>(random_.NextBelow(500 * kNsPerMs));
    ends_.emplace_back();
    return std::make_unique<MembershipState>(self, MembershipOptions(), random_.NextU64(),
                                             now_ns_ + offset);
  }

  void Step() {
    now_ns_ += kStepNs;
    std::erase_if(failures_, [&](const Failure& failure) {
      if (failure.at_ns > now_ns_) return false;
      if (nodes_[failure.from] != nullptr) nodes_[failure.from]->Unanswered(failure.to, now_ns_);
      return true;
    });
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i] == nullptr || nodes_[i]->next_tick_ns() > now_ns_) continue;
      for (const Contact& contact : nodes_[i]->Tick(now_ns_)) Talk(i, contact);
    }
  }

  void Talk(size_t from, const Contact& contact) {
    const size_t to = IndexOfAddress(contact.addresses.front());
    if (to == from) return;
    bytes_ += BytesOf(nodes_[from]->MakeGossip(now_ns_));
    const bool is_cut = cuts_.contains({from, to});
    if (nodes_[to] != nullptr && !is_cut) return Exchange(from, to);
    const bool is_silent = is_cut || ends_[to] == End::kIsSilent;
    failures_.push_back({now_ns_ + (is_silent ? kTimeoutNs : 0), from, IdOf(to)});
  }

  static size_t IndexOfAddress(std::string_view address) {
    size_t index = 0;
    std::string_view numbers = address.substr(3, address.find(':') - 3);
    while (!numbers.empty()) {
      size_t number = 0;
      const auto end = std::from_chars(numbers.begin(), numbers.end(), number).ptr;
      index = index * 256 + number;
      numbers.remove_prefix(static_cast<size_t>(end - numbers.begin()));
      if (!numbers.empty()) numbers.remove_prefix(1);
    }
    return index;
  }

  // An exchange as in node/membership.cc: a question, an answer, and what the other side still
  // lacks.
  void Exchange(size_t from, size_t to) {
    MembershipState &asking = *nodes_[from], &asked = *nodes_[to];
    const MemberTalk question = asking.MakeGossip(now_ns_);
    Take(asked, asking.self().node, question);
    const MemberTalk answer = asked.Answer(question.buckets, now_ns_);
    bytes_ += BytesOf(answer);
    Take(asking, asked.self().node, answer);
    if (!asking.Differs(answer.buckets)) return;
    const MemberTalk more = asking.Answer(answer.buckets, now_ns_);
    Take(asked, asking.self().node, more);
    bytes_ += BytesOf(more) + BytesOf(asked.Answer(more.buckets, now_ns_));
  }

  void Take(MembershipState& state, const NodeId& from, const MemberTalk& talk) {
    EXPECT_TRUE(state.Merge(talk.members, now_ns_).ok());
    state.Reached(from);
    state.TakeDoubts(talk.members, now_ns_);
  }

  Random random_;
  int64_t now_ns_ = 0;
  std::vector<std::unique_ptr<MembershipState>> nodes_;  // null: dead
  std::vector<End> ends_;
  std::vector<Failure> failures_;
  std::set<std::pair<size_t, size_t>> cuts_;
  uint64_t bytes_ = 0;
  int64_t count_begin_ns_ = 0;
};

double SecondsOf(int64_t ns) { return static_cast<double>(ns) / kNsPerSecond; }

TEST(MembershipScale, IdleTrafficDoesNotGrowWithTheNumberOfNodes) {
  const auto idle = [](size_t nodes) {
    LargeCluster cluster(nodes, 1);
    cluster.BytesPerNodeAndSecond();
    cluster.RunFor(10 * kNsPerSecond);
    EXPECT_EQ(cluster.WrongViews(), 0u);
    const double rate = cluster.BytesPerNodeAndSecond();
    fmt::print("{} nodes, idle: each sends {:.0f} bytes/s\n", nodes, rate);
    return rate;
  };
  const double of_few = idle(30);
  EXPECT_LT(idle(g_node_count), 1.05 * of_few);
}

TEST(MembershipScale, ADeathIsKnownToAllWithinTenSeconds) {
  LargeCluster cluster(g_node_count, 2);
  size_t next = g_node_count / 2;
  for (const auto end : {LargeCluster::End::kRefuses, LargeCluster::End::kIsSilent}) {
    const size_t dead = next++;
    cluster.BytesPerNodeAndSecond();
    cluster.Kill(dead, end);
    const auto took_ns = cluster.RunUntil([&] { return cluster.AllSay(dead, MemberState::kDead); });
    ASSERT_TRUE(took_ns);
    EXPECT_LE(*took_ns, 10 * kNsPerSecond);
    EXPECT_EQ(cluster.WrongViews(), 0u);
    fmt::print("{} nodes, one {}: all know after {:.1f} s, each sends {:.0f} bytes/s until then\n",
               g_node_count, end == LargeCluster::End::kRefuses ? "is killed" : "falls silent",
               SecondsOf(*took_ns), cluster.BytesPerNodeAndSecond());
  }
}

TEST(MembershipScale, ANewNodeKnowsAllAndIsKnownToAll) {
  LargeCluster cluster(g_node_count, 3);
  const size_t fresh = cluster.Join();
  const auto took_ns = cluster.RunUntil([&] { return cluster.AllSay(fresh, MemberState::kAlive); });
  ASSERT_TRUE(took_ns);
  EXPECT_LE(*took_ns, 10 * kNsPerSecond);
  fmt::print("{} nodes, one joins: all know after {:.1f} s\n", g_node_count, SecondsOf(*took_ns));
}

// The node is suspected, and other nodes refute that: a path that is cut makes no node dead.
TEST(MembershipScale, APathThatIsCutMakesNoNodeDead) {
  LargeCluster cluster(g_node_count, 4);
  cluster.Cut(0, 1);
  size_t most = 0;
  for (int i = 0; i < 60; ++i) {
    cluster.RunFor(kNsPerSecond);
    most = std::max(most, cluster.WrongViews());
  }
  EXPECT_FALSE(cluster.AllSay(1, MemberState::kDead));
  EXPECT_LE(most, 2u) << "all other nodes must know that both are alive";
  fmt::print("{} nodes, one path is cut: at most {} nodes suspected a living one\n", g_node_count,
             most);
}

TEST(MembershipScale, ATenthOfTheNodesDiesAtOnce) {
  LargeCluster cluster(g_node_count, 6);
  const size_t count = g_node_count / 10;
  for (size_t i = 0; i < count; ++i) cluster.Kill(10 * i, LargeCluster::End::kIsSilent);
  const auto took_ns = cluster.RunUntil([&] {
    for (size_t i = 0; i < count; ++i) {
      if (!cluster.AllSay(10 * i, MemberState::kDead)) return false;
    }
    return true;
  });
  ASSERT_TRUE(took_ns);
  EXPECT_EQ(cluster.WrongViews(), 0u);
  fmt::print("{} nodes, {} fall silent at once: all know after {:.1f} s\n", g_node_count, count,
             SecondsOf(*took_ns));
}

}  // namespace

bool SetNodeCount(std::string_view text) {
  const auto parsed = std::from_chars(text.begin(), text.end(), g_node_count);
  return parsed.ec == std::errc() && parsed.ptr == text.end() && g_node_count >= 40 &&
         g_node_count <= 1000;
}

}  // namespace aster::cluster

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; i += 2) {
    const bool is_known = std::string_view(argv[i]) == "--nodes" && i + 1 < argc;
    if (!is_known || !aster::cluster::SetNodeCount(argv[i + 1])) return 2;
  }
  return RUN_ALL_TESTS();
}
