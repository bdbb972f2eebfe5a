// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "drafting/remote_proposers.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include "base/check.h"
#include "engine/request.h"
#include "engine/sequence.h"
#include "stage/stage_memory.h"

namespace aster::drafting {
namespace {

// Messages that a drafter may send for each that it gets: one for each draft token, and one without
// any. Unused credit is bounded, too.
constexpr int64_t kCredit = engine::kMostDrafts + 2;
constexpr int64_t kMostCredit = 256 * kCredit;
// Events that are handled at once: too many must not delay an answer.
constexpr int kEventsPerPoll = 256;
// The factor by which earlier draft tokens count less with each new one.
constexpr double kRecordMemory = 0.95;
// Draft tokens that are kept ahead, for each that is checked at once: several steps may be in
// flight.
constexpr uint32_t kAhead = 4;
// A drafter that so many searches did not find is replaced by another one; a busy node may be
// missed once.
constexpr uint64_t kMissed = 3;
// The most replaced drafters that are remembered because they sent something invalid.
constexpr size_t kMostBanned = 1024;

}  // namespace

// The proposer of one answer. Follow has the text; in Propose the text may end with draft tokens.
class RemoteProposers::Answer final : public engine::Proposer {
 public:
  Answer(RemoteProposers& source, uint64_t id, const engine::Request& request,
         std::unique_ptr<engine::Proposer> fallback)
      : source_(source),
        id_(id),
        sampling_(request.sampling),
        most_(std::min(kAhead * request.draft.most, engine::kMostDrafts)),
        fallback_(std::move(fallback)),
        chains_(source.peers_.size()) {
    sampling_.logprobs = false;
    sampling_.top_logprobs = 0;
    if (request.sequence != nullptr) text_ = request.sequence->tokens();
    source_.answers_[id_] = this;
    for (size_t i = 0; i < chains_.size() && !text_.empty(); ++i) Begin(i);
  }
  ~Answer() override {
    source_.answers_.erase(id_);
    for (size_t i = 0; i < chains_.size(); ++i) End(i);
  }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  // The text continues: pushes it at once, also if no draft tokens are wanted now.
  void Follow(std::span<const int32_t> history, uint32_t /*begin*/,
              std::span<const float> /*hidden*/) override {
    source_.Poll();
    if (history.size() <= text_.size()) return;
    const auto news = history.subspan(text_.size());
    const bool is_new = text_.empty();
    text_.insert(text_.end(), news.begin(), news.end());
    for (size_t i = 0; i < chains_.size(); ++i) {
      if (is_new)
        Begin(i);
      else
        SendFollowing(i, news);
    }
  }

  Status Propose(std::span<const int32_t> history, uint32_t most,
                 std::vector<int32_t>& drafts) override {
    source_.Poll();
    if (history.size() < text_.size()) return Ok();
    const auto behind = history.subspan(text_.size());
    // Takes the draft tokens of the drafter with the best record.
    const std::vector<int32_t>* best = nullptr;
    double acceptance_rate = -1;
    for (size_t i = 0; i < chains_.size(); ++i) {
      const std::vector<int32_t>& tokens = chains_[i].tokens;
      const bool is_other = source_.peers_[i].acceptance_rate() <= acceptance_rate;
      if (is_other || tokens.size() <= behind.size() ||
          !std::ranges::equal(behind, std::span(tokens).first(behind.size())))
        continue;
      best = &tokens;
      acceptance_rate = source_.peers_[i].acceptance_rate();
    }
    if (best != nullptr) {
      const auto found = std::span(*best).subspan(behind.size());
      const auto wanted = found.first(std::min<size_t>(found.size(), most));
      drafts.insert(drafts.end(), wanted.begin(), wanted.end());
      return Ok();
    }
    return fallback_ == nullptr ? Ok() : fallback_->Propose(history, most, drafts);
  }

  // Takes draft tokens. Returns why they are invalid; an empty text if they are valid.
  std::string Take(size_t peer, const wire::DraftTokens& drafts) {
    if (peer >= chains_.size()) return "it drafted for an answer that began without it";
    Chain& chain = chains_[peer];
    if (drafts.begin > text_.size()) {
      return fmt::format("it drafted behind token {} of a text of {}", drafts.begin, text_.size());
    }
    for (const int32_t token : drafts.tokens) {
      const auto size = source_.options_.vocabulary.size;
      if (token < 0 || static_cast<uint32_t>(token) >= size)
        return fmt::format("it drafted token {} of a vocabulary of {}", token, size);
    }
    // The text may have continued meanwhile, with these tokens or others.
    const auto known = std::span<const int32_t>(text_).subspan(drafts.begin);
    const std::span<const int32_t> tokens = drafts.tokens;
    if (tokens.size() < known.size() || !std::ranges::equal(known, tokens.first(known.size())))
      return "";
    const auto ahead = tokens.subspan(known.size());
    const size_t same =
        static_cast<size_t>(std::ranges::mismatch(chain.tokens, ahead).in1 - chain.tokens.begin());
    RemoteDraftCounts& counts = source_.peers_[peer].counts;
    counts.proposed += ahead.size() - same;
    counts.cancelled += chain.tokens.size() - same;
    chain.tokens.assign(ahead.begin(), ahead.end());
    return "";
  }

  // Tells the drafter to draft no more for this answer.
  void End(size_t peer) {
    if (peer >= chains_.size()) return;
    const Peer& of = source_.peers_[peer];
    if (chains_[peer].is_begun && of.is_usable()) {
      wire::EndDraft end;
      end.draft = DraftOf(peer);
      static_cast<void>(source_.network_->Send(of.remote.node, end));
    }
    Drop(peer);
  }

  // Drops the drafter's tokens; it will draft no more for this answer.
  void Drop(size_t peer) {
    if (peer >= chains_.size()) return;  // it was found later
    Chain& chain = chains_[peer];
    source_.peers_[peer].counts.cancelled += chain.tokens.size();
    chain = {};
  }

 private:
  struct Chain {
    bool is_begun = false;
    std::vector<int32_t> tokens;  // draft tokens after the text
  };

  // The number of this answer for one drafter: a node may have several drafters.
  uint64_t DraftOf(size_t peer) const { return id_ * kMostDrafters + peer; }

  void Begin(size_t i) {
    Peer& peer = source_.peers_[i];
    if (!peer.is_usable()) return;
    wire::BeginDraft begin;
    begin.draft = DraftOf(i);
    begin.vocabulary = source_.options_.vocabulary.digest;
    begin.drafter = peer.remote.drafter;
    begin.sampling = stage::SamplingToWire(sampling_);
    begin.most = most_;
    begin.tokens = text_;
    chains_[i].is_begun = source_.Push(peer, std::move(begin));
  }

  void SendFollowing(size_t i, std::span<const int32_t> news) {
    Peer& peer = source_.peers_[i];
    Chain& chain = chains_[i];
    if (!chain.is_begun || !peer.is_usable()) return;
    wire::FollowDraft follow;
    follow.draft = DraftOf(i);
    follow.begin = static_cast<uint32_t>(text_.size() - news.size());
    follow.tokens.assign(news.begin(), news.end());
    chain.is_begun = source_.Push(peer, std::move(follow));
    for (const int32_t token : news) {
      if (chain.tokens.empty()) break;
      const bool is_right = chain.tokens.front() == token;
      peer.Learn(is_right);
      if (is_right) {
        ++peer.counts.accepted;
        chain.tokens.erase(chain.tokens.begin());
      } else {
        peer.counts.cancelled += chain.tokens.size();
        chain.tokens.clear();
      }
    }
  }

  RemoteProposers& source_;
  const uint64_t id_;
  engine::SamplingOptions sampling_;
  const uint32_t most_;
  const std::unique_ptr<engine::Proposer> fallback_;  // or null
  std::vector<int32_t> text_;
  std::vector<Chain> chains_;  // by peer
};

void RemoteProposers::Peer::Learn(bool is_right) {
  recent_accepted = kRecordMemory * recent_accepted + (is_right ? 1 : 0);
  recent_checked = kRecordMemory * recent_checked + 1;
}

RemoteProposers::RemoteProposers(net::Network* network, std::vector<RemoteDrafter> drafters,
                                 RemoteOptions options)
    : network_(network), options_(std::move(options)) {
  retired_.name = "removed drafters";
  retired_.is_left_out = true;
  for (RemoteDrafter& drafter : drafters) Add(std::move(drafter));
}

// Adds a new drafter, or updates the addresses of a known one.
void RemoteProposers::Add(RemoteDrafter drafter) {
  const auto known = std::ranges::find_if(peers_, [&](Peer& peer) { return peer.Is(drafter); });
  if (known != peers_.end()) {
    known->look = looks_;
    if (known->remote.addresses == drafter.addresses) return;
    known->remote.addresses = std::move(drafter.addresses);
    network_->Introduce(known->remote.node, known->remote.addresses);
    return;
  }
  if (std::ranges::count(banned_, DrafterId(drafter.node, drafter.drafter)) > 0) return;
  Peer* const peer = Place();
  if (peer == nullptr) return;
  peer->counts.name = drafter.name;
  peer->remote = std::move(drafter);
  peer->look = looks_;
  network_->Introduce(peer->remote.node, peer->remote.addresses);
}

// A place for a new drafter. If none is free, that of a drafter that is left out or was not found
// any more. Null: all are in use.
RemoteProposers::Peer* RemoteProposers::Place() {
  if (peers_.size() < kMostDrafters) return &peers_.emplace_back();
  const auto rank = [](const Peer& peer) { return std::pair(peer.look, peer.is_usable()); };
  Peer& oldest = *std::ranges::min_element(peers_, {}, rank);
  if (oldest.is_usable() && oldest.look + kMissed > looks_) return nullptr;
  Retire(oldest);
  return &oldest;
}

void RemoteProposers::Retire(Peer& peer) {
  const auto index = static_cast<size_t>(&peer - peers_.data());
  for (const auto& [id, answer] : answers_) answer->End(index);
  retired_.proposed += peer.counts.proposed;
  retired_.accepted += peer.counts.accepted;
  retired_.cancelled += peer.counts.cancelled;
  if (peer.is_banned) {
    banned_.emplace_back(peer.remote.node, peer.remote.drafter);
    if (banned_.size() > kMostBanned) banned_.pop_front();
  }
  peer = {};
  peer.after_answer = last_answer_;
}

RemoteProposers::~RemoteProposers() { DCHECK(answers_.empty()); }

Result<std::unique_ptr<engine::Proposer>> RemoteProposers::Make(const engine::Request& request) {
  Poll();
  Find();
  std::unique_ptr<engine::Proposer> fallback;
  if (options_.fallback != nullptr) {
    engine::Request asked;
    asked.sampling = request.sampling;
    asked.draft = {.kind = engine::DraftKind::kNgram, .most = request.draft.most};
    fallback = TRY(options_.fallback->Make(asked));
  }
  // Between answers no messages were read, so no silence counts. Drafters that were left out for a
  // while may be used again.
  for (Peer& peer : peers_) {
    if (answers_.empty()) peer.reply_due_since_ns = 0;
    if (!peer.is_suspended || network_->clock().NowNs() < peer.again_ns) continue;
    peer.is_suspended = false;
    peer.reply_due_since_ns = 0;
    network_->Introduce(peer.remote.node, peer.remote.addresses);
  }
  return std::make_unique<Answer>(*this, ++last_answer_, request, std::move(fallback));
}

// Adds drafters that were found. Answers in progress do not use new ones.
void RemoteProposers::Find() {
  if (!options_.found) return;
  std::vector<RemoteDrafter> found = options_.found();
  if (found.empty()) return;
  ++looks_;
  // Updates known drafters first, so that they keep their places.
  const auto is_known = [&](const RemoteDrafter& drafter) {
    return std::ranges::any_of(peers_, [&](const Peer& peer) { return peer.Is(drafter); });
  };
  std::ranges::stable_partition(found, is_known);
  for (RemoteDrafter& drafter : found) Add(std::move(drafter));
}

void RemoteProposers::Poll() {
  if (!options_.receives || network_ == nullptr) return;
  for (int i = 0; i < kEventsPerPoll; ++i) {
    const auto event = network_->Receive(0);
    if (!event) return;
    Handle(*event);
  }
}

bool RemoteProposers::Push(Peer& peer, wire::Message message) {
  LookForSilence(peer);
  if (!peer.is_usable()) return false;
  const Status sent = network_->Send(peer.remote.node, std::move(message));
  if (!sent.ok()) {
    // Left out for good if the node's version lacks the protocol.
    LeaveOut(peer, sent.error().code() == Code::kUnimplemented, sent.error().message());
    return false;
  }
  if (peer.reply_due_since_ns == 0) peer.reply_due_since_ns = network_->clock().NowNs();
  peer.credit = std::min(peer.credit + kCredit, kMostCredit);
  return true;
}

void RemoteProposers::LookForSilence(Peer& peer) {
  if (peer.reply_due_since_ns == 0) return;
  const int64_t silent_ns = network_->clock().NowNs() - peer.reply_due_since_ns;
  if (silent_ns < options_.silent_ns) return;
  LeaveOut(peer, /*for_good=*/false,
           fmt::format("it has not replied for {} s", silent_ns / kNsPerSecond));
}

bool RemoteProposers::Handle(const net::Event& event) {
  if (event.kind == net::Event::Kind::kMessage) {
    const auto* drafts = std::get_if<wire::DraftTokens>(&event.message);
    if (drafts != nullptr) OnDrafts(event.from, *drafts);
    return drafts != nullptr;
  }
  if (event.kind != net::Event::Kind::kDown) return false;
  for (Peer& peer : peers_) {
    if (peer.remote.node != event.from || !peer.is_usable()) continue;
    LeaveOut(peer, /*for_good=*/false,
             event.why.ok() ? "it disconnected" : event.why.error().message());
  }
  return false;
}

void RemoteProposers::OnDrafts(const wire::NodeId& from, const wire::DraftTokens& drafts) {
  const auto is_sender = [&](const Peer& peer) { return peer.remote.node == from; };
  auto found = std::ranges::find_if(peers_, is_sender);
  if (found == peers_.end()) return;
  const auto index = static_cast<size_t>(drafts.draft % kMostDrafters);
  const bool is_told = index < peers_.size() && is_sender(peers_[index]);
  const uint64_t number = drafts.draft / kMostDrafters;
  // Late: sent by another drafter of the node that had this place before.
  const bool is_late = index < peers_.size() && number <= peers_[index].after_answer;
  Peer& peer = is_told ? peers_[index] : *found;
  if (!peer.is_usable()) return;
  peer.reply_due_since_ns = 0;
  if (!is_told && !is_late)
    return LeaveOut(peer, /*for_good=*/true,
                    "it sent draft tokens for a text that it does not follow");
  if (--peer.credit < 0) {
    return LeaveOut(peer, /*for_good=*/true, "it sends more than it is asked for");
  }
  const auto answer = answers_.find(number);
  if (answer == answers_.end() || is_late) return;  // the answer has ended, or does not use it
  if (drafts.has_failed) {
    answer->second->Drop(index);
    // It has no room for this answer, but may have room for others.
    const Code code = drafts.why.code();
    if (code == Code::kResourceExhausted || code == Code::kAborted) return;
    // kNotFound: a restarted node may have other drafters, and later this one again.
    return LeaveOut(peer, /*for_good=*/code != Code::kNotFound, drafts.why.message());
  }
  const std::string wrong = answer->second->Take(index, drafts);
  if (!wrong.empty()) LeaveOut(peer, /*for_good=*/true, wrong);
}

void RemoteProposers::LeaveOut(Peer& peer, bool for_good, const std::string& why) {
  peer.is_banned = peer.is_banned || for_good;
  peer.is_suspended = true;
  peer.again_ns = network_->clock().NowNs() + options_.again_ns;
  const auto index = static_cast<size_t>(&peer - peers_.data());
  for (const auto& [id, answer] : answers_) answer->Drop(index);
  if (!peer.warned.insert(for_good ? "lost" : "gone").second || options_.warn == nullptr) return;
  options_.warn(fmt::format("{} is not used any more: {}", peer.remote.name, why));
}

std::vector<RemoteDraftCounts> RemoteProposers::counts() const {
  std::vector<RemoteDraftCounts> counts;
  for (const Peer& peer : peers_) {
    counts.push_back(peer.counts);
    counts.back().is_left_out = !peer.is_usable();
  }
  if (retired_.proposed > 0) counts.push_back(retired_);
  return counts;
}

}  // namespace aster::drafting
