// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Drafters on other machines, for a generator here: it pushes each text to them as its tokens come,
// they push draft tokens, and Propose takes those that have arrived. No caller ever waits for a
// drafter. One that cannot be reached, is silent, sends too much or sends invalid tokens is left
// out, with one warning. Must not know who checks draft tokens.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "drafting/vocabulary.h"
#include "engine/proposer.h"
#include "net/network.h"
#include "wire/messages.h"

namespace aster::drafting {

// The most drafters that a front end uses at a time.
inline constexpr size_t kMostDrafters = 64;

struct RemoteDrafter {
  wire::NodeId node;
  std::string name;  // for people: "comet on attic"
  std::vector<std::string> addresses;
  Hash128 drafter;  // BeginDraft::drafter
};

// Counters of one drafter, over all answers.
struct RemoteDraftCounts {
  std::string name;
  uint64_t proposed = 0;   // draft tokens that came
  uint64_t accepted = 0;   // those that agreed with the text, whether they were checked or not
  uint64_t cancelled = 0;  // those that differed from the text
  bool is_left_out = false;
};

struct RemoteOptions {
  Vocabulary vocabulary;  // of the model that answers
  // Used when no drafter has draft tokens; outlives it. Null: there are no draft tokens then.
  engine::ProposerSource* fallback = nullptr;
  // Shows a warning; each is shown once.
  std::function<void(const std::string&)> warn = nullptr;
  int64_t silent_ns = 30 * kNsPerSecond;  // without a reply after which a drafter counts as silent
  int64_t again_ns = 10 * kNsPerSecond;   // before one that failed is asked again
  // Returns the drafters that were found since its last call, known ones included, without waiting.
  // Null: drafters are not looked for.
  std::function<std::vector<RemoteDrafter>()> found = nullptr;
  // Whether it takes events from the network itself, because no other code does.
  bool receives = false;
};

// Belongs to the thread that generates.
class RemoteProposers final : public engine::ProposerSource {
 public:
  // The network outlives it, and it outlives the proposers that it makes. Null: there will never be
  // drafters.
  RemoteProposers(net::Network* network, std::vector<RemoteDrafter> drafters,
                  RemoteOptions options);
  ~RemoteProposers() override;

  Result<std::unique_ptr<engine::Proposer>> Make(const engine::Request& request) override;

  // Returns whether there may be new draft tokens. Ignores events that are not for it.
  bool Handle(const net::Event& event);

  // The counters of each drafter; then those of all replaced drafters together, if there are any.
  std::vector<RemoteDraftCounts> counts() const;

 private:
  class Answer;
  using DrafterId = std::pair<wire::NodeId, Hash128>;
  struct Peer {
    RemoteDrafter remote;
    RemoteDraftCounts counts;
    bool is_banned = false;          // left out for good, because it sent something invalid
    bool is_suspended = false;       // left out for a while
    int64_t again_ns = 0;            // when it may be asked again
    int64_t reply_due_since_ns = 0;  // since when a reply is due; 0: none is
    int64_t credit = 0;              // messages that it may send
    double recent_accepted = 0;      // right draft tokens lately, of `recent_checked`
    double recent_checked = 0;
    std::set<std::string> warned;  // complaints
    uint64_t look = 0;             // the last look that found it
    // Another drafter had this place in `peers_` for answers up to this one; 0: none had it.
    uint64_t after_answer = 0;

    bool Is(const RemoteDrafter& drafter) const {
      return remote.node == drafter.node && remote.drafter == drafter.drafter;
    }
    bool is_usable() const { return !is_banned && !is_suspended; }
    // The share of its draft tokens that were right lately.
    double acceptance_rate() const { return (recent_accepted + 0.5) / (recent_checked + 1); }
    void Learn(bool is_right);
  };

  void Poll();
  void Find();
  void Add(RemoteDrafter drafter);
  Peer* Place();
  void Retire(Peer& peer);
  // Returns whether the message was sent.
  bool Push(Peer& peer, wire::Message message);
  void OnDrafts(const wire::NodeId& from, const wire::DraftTokens& drafts);
  void LeaveOut(Peer& peer, bool for_good, const std::string& why);
  void LookForSilence(Peer& peer);

  net::Network* const network_;
  const RemoteOptions options_;
  std::vector<Peer> peers_;
  uint64_t looks_ = 0;            // looks for drafters that found any
  RemoteDraftCounts retired_;     // counters of all replaced drafters
  std::deque<DrafterId> banned_;  // the last replaced drafters that must not be used again
  std::map<uint64_t, Answer*> answers_;
  uint64_t last_answer_ = 0;
};

}  // namespace aster::drafting
