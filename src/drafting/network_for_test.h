// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A network that only keeps sent messages, and drafters whose draft tokens are known. Only for
// tests.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/proposer.h"
#include "net/network.h"

namespace aster::drafting {

inline wire::NodeId TestNode(uint64_t number) { return wire::NodeId{Hash128{number, 1}}; }

// Keeps sent messages.
class KeepingNetwork final : public net::Network {
 public:
  using Sent = std::pair<wire::NodeId, wire::Message>;

  wire::NodeId self() const override { return TestNode(99); }
  void Introduce(const wire::NodeId& /*node*/, const std::vector<std::string>&) override {
    ++introduced;
  }
  Status Send(const wire::NodeId& to, wire::Message message) override {
    if (!refusal.ok()) return refusal;
    sent.emplace_back(to, std::move(message));
    return Ok();
  }
  std::optional<net::Event> Receive(int64_t) override { return std::nullopt; }
  const Clock& clock() const override { return virtual_clock; }

  // All messages since the last call.
  std::vector<Sent> Take() { return std::exchange(sent, {}); }

  VirtualClock virtual_clock{kNsPerSecond};
  Status refusal;  // of all that is sent from now on
  size_t introduced = 0;
  std::vector<Sent> sent;
};

inline net::Event MessageFrom(const wire::NodeId& node, wire::Message message) {
  return {
      .kind = net::Event::Kind::kMessage, .from = node, .message = std::move(message), .why = Ok()};
}
inline net::Event DownOf(const wire::NodeId& node) {
  return {.kind = net::Event::Kind::kDown,
          .from = node,
          .message = {},
          .why = Error(Code::kUnavailable, "it was switched off")};
}

// Drafts the numbers after the text's last token, below `end`.
class CountingSource final : public engine::ProposerSource {
 public:
  explicit CountingSource(int32_t end = 1000) : end_(end) {}
  Result<std::unique_ptr<engine::Proposer>> Make(const engine::Request& /*request*/) override {
    return std::make_unique<Counting>(*this);
  }
  size_t asked() const { return asked_; }

 private:
  class Counting final : public engine::Proposer {
   public:
    explicit Counting(CountingSource& source) : source_(source) {}
    Status Propose(std::span<const int32_t> history, uint32_t most,
                   std::vector<int32_t>& drafts) override {
      ++source_.asked_;
      int32_t next = history.empty() ? 0 : history.back();
      for (uint32_t i = 0; i < most && next + 1 < source_.end_; ++i) drafts.push_back(++next);
      return Ok();
    }

   private:
    CountingSource& source_;
  };

  const int32_t end_;
  size_t asked_ = 0;
};

}  // namespace aster::drafting
