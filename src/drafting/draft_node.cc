// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "drafting/draft_node.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "base/check.h"
#include "engine/request.h"

namespace aster::drafting {
namespace {

// Limits for events that wait for the drafters' thread. Further ones are dropped; at the next event
// of such a text its front end is told that it failed.
constexpr size_t kMostEvents = 4096;
constexpr uint64_t kMostTokens = uint64_t{4} << 20;

uint64_t TokensOf(const wire::Message& message) {
  if (const auto* begin = std::get_if<wire::BeginDraft>(&message)) return begin->tokens.size();
  if (const auto* follow = std::get_if<wire::FollowDraft>(&message)) return follow->tokens.size();
  return 0;
}

// Of MeasureDrafter.
constexpr uint32_t kTextTokens = 32;
constexpr uint32_t kMeasuredTokens = 16;

}  // namespace

double MeasureDrafter(OwnDrafter& drafter, const Clock& clock) {
  engine::Request request;
  request.draft = {.kind = drafter.kind, .most = kMeasuredTokens};
  auto proposer = drafter.source->Make(request);
  if (!proposer.ok()) return 0;
  std::vector<int32_t> text;
  // The text repeats itself, so that a look-up finds something.
  for (uint32_t i = 0; i < kTextTokens; ++i) {
    text.push_back(static_cast<int32_t>((i % (kTextTokens / 2)) % drafter.vocabulary.size));
  }
  std::vector<int32_t> drafts;
  // Not measured: the first one reads the text.
  if (!(*proposer)->Propose(text, 1, drafts).ok() || drafts.empty()) return 0;
  drafts.clear();
  const int64_t begin_ns = clock.NowNs();
  if (!(*proposer)->Propose(text, kMeasuredTokens, drafts).ok()) return 0;
  const int64_t duration_ns = std::max<int64_t>(clock.NowNs() - begin_ns, 1);
  return static_cast<double>(drafts.size()) * kNsPerSecond / static_cast<double>(duration_ns);
}

DraftNode::DraftNode(net::Network& network, std::vector<OwnDrafter> drafters)
    : network_(network), drafters_(std::move(drafters)) {}

DraftNode::~DraftNode() { Stop(); }

void DraftNode::Start() {
  CHECK(!thread_.joinable());
  {
    const MutexLock lock(mu_);
    stopping_ = false;
  }
  thread_ = std::thread([this] { Main(); });
}

void DraftNode::Stop() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

bool DraftNode::Handle(const net::Event& event) {
  const bool is_ours = event.kind == net::Event::Kind::kMessage && IsForDrafters(event.message);
  if (!is_ours && event.kind != net::Event::Kind::kDown) return false;
  const uint64_t tokens = TokensOf(event.message);
  const MutexLock lock(mu_);
  // kDown events are never dropped.
  const bool is_full = events_.size() >= kMostEvents || tokens > kMostTokens - tokens_;
  if (is_full && is_ours) return true;
  tokens_ += tokens;
  events_.push_back(event);
  changed_.NotifyAll();
  return is_ours;
}

std::deque<net::Event> DraftNode::Take(bool waits) {
  const MutexLock lock(mu_);
  while (waits && events_.empty() && !stopping_) changed_.Wait(mu_);
  tokens_ = 0;
  return std::exchange(events_, {});
}

void DraftNode::Main() {
  std::vector<Drafter> drafters;
  for (const OwnDrafter& own : drafters_) {
    drafters.push_back({.name = own.name,
                        .vocabulary = own.vocabulary,
                        .kind = own.kind,
                        .source = own.source.get()});
  }
  DraftServer server(network_, std::move(drafters));
  while (true) {
    for (const net::Event& event : Take(/*waits=*/!server.has_work())) server.Handle(event);
    {
      const MutexLock lock(mu_);
      if (stopping_) return;
    }
    server.Work();
  }
}

}  // namespace aster::drafting
