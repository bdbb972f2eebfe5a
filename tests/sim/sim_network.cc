// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "sim_network.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "wire/codec.h"

namespace aster::sim {
namespace {

constexpr int64_t kMostDelayNs = 5 * kNsPerMs;
// The longest time until a broken link is noticed.
constexpr int64_t kMostSilenceNs = 2 * kNsPerSecond;

std::string NameOf(const wire::NodeId& node) { return fmt::format("n{}", node.value.low); }

std::string Describe(const wire::Message& message) {
  std::string text(wire::NameOf(wire::TypeOf(message)));
  if (const auto* work = std::get_if<wire::Work>(&message)) {
    for (const wire::WorkSegment& segment : work->segments) {
      text += fmt::format(" {}#{}[{},+{})", segment.sequence, segment.attempt, segment.begin,
                          segment.tokens.size());
    }
  } else if (const auto* holds = std::get_if<wire::Holds>(&message)) {
    text += fmt::format(" {}#{} {} {}", holds->sequence, holds->attempt, holds->length,
                        holds->why.message());
  } else if (const auto* done = std::get_if<wire::Done>(&message)) {
    for (const wire::SegmentResult& answer : done->results) {
      text += fmt::format(" {}#{} to {}: {}", answer.sequence, answer.attempt, answer.end,
                          answer.token);
    }
  } else if (const auto* state = std::get_if<wire::RouteState>(&message)) {
    text += fmt::format(" {} {}", static_cast<int>(state->kind), state->why.message());
  } else if (const auto* begin = std::get_if<wire::Begin>(&message)) {
    text += fmt::format(" {} of {}", begin->sequence, begin->tokens.size());
  }
  return text;
}

}  // namespace

void Trace::Add(int64_t now_ns, const std::string& line) {
  hasher_.AddValue(now_ns);
  hasher_.AddText(line);
  if (keep_lines_) lines_.push_back(fmt::format("{:>10.3f} ms  {}", now_ns / 1e6, line));
}

int64_t SimHub::Between(int64_t low_ns, int64_t high_ns) {
  return low_ns + static_cast<int64_t>(random_.NextBelow(static_cast<uint64_t>(high_ns - low_ns)));
}

void SimHub::Add(const wire::NodeId& node, Deliver deliver) {
  CHECK(!nodes_.contains(node));
  trace_.Add(clock_.NowNs(), NameOf(node) + " is there");
  nodes_[node] = {.life = ++last_life_, .deliver = std::move(deliver), .introduced = {}, .up = {}};
}

void SimHub::Remove(const wire::NodeId& node) {
  trace_.Add(clock_.NowNs(), NameOf(node) + " vanishes");
  std::vector<wire::NodeId> peers;
  for (const auto& [other, state] : nodes_) {
    if (other != node) peers.push_back(other);
  }
  for (const wire::NodeId& peer : peers) Break(node, peer, "it vanished");
  nodes_.erase(node);
}

void SimHub::Cut(const wire::NodeId& a, const wire::NodeId& b) {
  trace_.Add(clock_.NowNs(), fmt::format("{} and {} are cut", NameOf(a), NameOf(b)));
  Break(a, b, "the connection was cut");
}

void SimHub::Separate(const wire::NodeId& a, const wire::NodeId& b, bool is_separate) {
  trace_.Add(clock_.NowNs(), fmt::format("{} and {} are {}", NameOf(a), NameOf(b),
                                         is_separate ? "separated" : "brought together"));
  if (is_separate) {
    separate_.insert(std::minmax(a, b));
    Break(a, b, "nothing gets through");
  } else {
    separate_.erase(std::minmax(a, b));
  }
}

// Messages in flight may still arrive up to a random time; later ones are lost.
void SimHub::Break(const wire::NodeId& a, const wire::NodeId& b, const char* why) {
  const auto link = links_.find(std::minmax(a, b));
  if (link == links_.end()) return;
  const uint64_t number = link->second;
  links_.erase(link);
  const int64_t last_ns = clock_.NowNs() + Between(0, kMostDelayNs);
  std::erase_if(pending_, [&](const auto& item) {
    return item.second.link == number && item.first.first > last_ns;
  });
  for (const auto& [node, peer] : {Pair(a, b), Pair(b, a)}) {
    if (nodes_.contains(node)) PostDown(node, peer, number, Between(0, kMostSilenceNs), why);
  }
}

void SimHub::PostDown(const wire::NodeId& to, const wire::NodeId& peer, uint64_t link,
                      int64_t delay_ns, const char* why) {
  Post(to, clock_.NowNs() + delay_ns, link,
       {.kind = net::Event::Kind::kDown,
        .from = peer,
        .message = {},
        .why = Error(Code::kUnavailable, why)});
}

void SimHub::Post(const wire::NodeId& to, int64_t due_ns, uint64_t link, net::Event event) {
  const Pair pair(event.from, to);
  int64_t& last_ns = last_due_ns_[pair];
  last_ns = due_ns = std::max(due_ns, last_ns);
  pending_.emplace(std::pair(due_ns, ++last_order_),
                   Pending{to, nodes_.at(to).life, link, std::move(event)});
}

bool SimHub::Connect(const wire::NodeId& self, const wire::NodeId& node) {
  Node& own = nodes_.at(self);
  // The link exists, or the node has not noticed yet that it broke.
  if (own.up.contains(node)) return true;
  // The other side has connected, and the message about that is in flight.
  if (const auto link = links_.find(std::minmax(self, node)); link != links_.end()) {
    own.up[node] = link->second;
    return true;
  }
  const auto peer = nodes_.find(node);
  if (peer == nodes_.end() || separate_.contains(std::minmax(self, node))) {
    PostDown(self, node, 0, Between(kNsPerMs, kNsPerSecond), "it does not take connections");
    return false;
  }
  // If the other side still believes in an older link, that one ends first.
  if (const auto old = peer->second.up.find(self); old != peer->second.up.end()) {
    std::erase_if(pending_, [&](const auto& item) {
      return item.second.to == node && item.second.event.from == self;
    });
    last_due_ns_[{self, node}] = clock_.NowNs();
    PostDown(node, self, old->second, 0, "it connected anew");
  }
  const uint64_t link = ++last_link_;
  links_[std::minmax(self, node)] = link;
  own.up[node] = link;
  const int64_t due_ns = clock_.NowNs() + Between(0, kMostDelayNs);
  Post(self, due_ns, link,
       {.kind = net::Event::Kind::kUp, .from = node, .message = {}, .why = Ok()});
  Post(node, due_ns, link,
       {.kind = net::Event::Kind::kUp, .from = self, .message = {}, .why = Ok()});
  return true;
}

void SimHub::Introduce(const wire::NodeId& self, const wire::NodeId& node) {
  nodes_.at(self).introduced.insert(node);
  if (node != self) Connect(self, node);
}

Status SimHub::Send(const wire::NodeId& self, const wire::NodeId& to, wire::Message message) {
  const auto own = nodes_.find(self);
  // The node is being destroyed.
  if (own == nodes_.end()) return Error(Code::kUnavailable, "this node is gone");
  const int64_t leaves_ns = clock_.NowNs() + send_delay_ns_;
  net::Event event{
      .kind = net::Event::Kind::kMessage, .from = self, .message = std::move(message), .why = Ok()};
  if (to == self) {
    Post(to, leaves_ns, 0, std::move(event));
    return Ok();
  }
  if (!own->second.up.contains(to) && !own->second.introduced.contains(to)) {
    return FailedPrecondition("the node's address is not known: introduce it first");
  }
  if (!Connect(self, to)) return Ok();
  const uint64_t link = own->second.up.at(to);
  const auto real = links_.find(std::minmax(self, to));
  // The link has failed without the sender's knowledge: the message is lost.
  if (real == links_.end() || real->second != link) return Ok();
  const int64_t due_ns = ArrivalOf({self, to}, leaves_ns, event.message);
  Post(to, due_ns, link, std::move(event));
  return Ok();
}

int64_t SimHub::ArrivalOf(const Pair& way, int64_t leaves_ns, const wire::Message& message) {
  if (!link_) return leaves_ns + Between(0, kMostDelayNs);
  if (link_->together.contains(way.first) && link_->together.contains(way.second)) return leaves_ns;
  const wire::Frame frame = wire::Encode(wire::Message(message));
  const auto bytes = static_cast<double>(frame.head.size() + frame.payload.size());
  int64_t& free_ns = free_ns_[way.first];
  free_ns = std::max(free_ns, leaves_ns) + static_cast<int64_t>(bytes / link_->bytes_per_s * 1e9);
  return free_ns + link_->latency_ns;
}

void SimHub::DeliverNext() {
  const auto first = pending_.begin();
  CHECK(first != pending_.end() && first->first.first <= clock_.NowNs());
  Pending pending = std::move(first->second);
  pending_.erase(first);
  const auto node = nodes_.find(pending.to);
  if (node == nodes_.end() || node->second.life != pending.life) return;
  std::map<wire::NodeId, uint64_t>& up = node->second.up;
  const wire::NodeId from = pending.event.from;
  std::string what;
  switch (pending.event.kind) {
    case net::Event::Kind::kUp:
      up[from] = pending.link;
      what = "is up";
      break;
    case net::Event::Kind::kDown:
      // The link has been replaced since, or the node never heard of it.
      if (pending.link != 0 && (!up.contains(from) || up.at(from) != pending.link)) return;
      up.erase(from);
      what = "is down";
      break;
    case net::Event::Kind::kMessage:
      what = Describe(pending.event.message);
      break;
  }
  trace_.Add(clock_.NowNs(), fmt::format("{} -> {}: {}", NameOf(from), NameOf(pending.to), what));
  node->second.deliver(std::move(pending.event));
}

}  // namespace aster::sim
