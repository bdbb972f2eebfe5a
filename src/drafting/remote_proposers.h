// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Drafters on other machines, as a generator here sees them: it pushes each text to them as its
// tokens come, they push draft tokens, and Propose takes from what has come. No caller ever waits
// for one: where there are no draft tokens, there are none. A drafter that is gone, silent, floods,
// or says what cannot be is left out, and that is said once. Must not know who checks draft tokens.
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

// That a front end uses at most at a time.
inline constexpr size_t kMostDrafters = 64;

struct RemoteDrafter {
  wire::NodeId node;
  std::string name;  // for people: "comet on attic"
  std::vector<std::string> addresses;
  Hash128 drafter;  // BeginDraft::drafter
};

// Draft tokens of one drafter, of all answers.
struct RemoteDraftCounts {
  std::string name;
  uint64_t proposed = 0;   // that came
  uint64_t accepted = 0;   // that the text then had, whether they were checked or not
  uint64_t cancelled = 0;  // that were of no use, as the text went on otherwise
  bool is_left_out = false;
};

struct RemoteOptions {
  Vocabulary vocabulary;  // of the model that answers
  // Where no drafter has any; outlives it. Null: there are none then.
  engine::ProposerSource* beside = nullptr;
  // What is said once, to people.
  std::function<void(const std::string&)> complain = nullptr;
  int64_t silent_ns = 30 * kNsPerSecond;  // after which a drafter that was told something is silent
  int64_t again_ns = 10 * kNsPerSecond;   // before one that was gone is asked again
  // Those that were found since it was asked last, known ones among them; takes no time. Null: none
  // are looked for.
  std::function<std::vector<RemoteDrafter>()> found = nullptr;
  // Whether it takes events from the network itself, where no other code does.
  bool receives = false;
};

// Belongs to the thread that generates.
class RemoteProposers final : public engine::ProposerSource {
 public:
  // The network outlives it, and it outlives what it makes. Null where there are no drafters, nor
  // will be any.
  RemoteProposers(net::Network* network, std::vector<RemoteDrafter> drafters,
                  RemoteOptions options);
  ~RemoteProposers() override;

  Result<std::unique_ptr<engine::Proposer>> Make(const engine::Request& request) override;

  // Whether there may be other draft tokens now. Events for others are left alone.
  bool Handle(const net::Event& event);

  // Of each drafter; then of all that others have taken the place of, if there are any.
  std::vector<RemoteDraftCounts> counts() const;

 private:
  class Answer;
  using DrafterId = std::pair<wire::NodeId, Hash128>;
  struct Peer {
    RemoteDrafter who;
    RemoteDraftCounts counts;
    bool is_lost = false;    // for good: what it said cannot be
    bool is_gone = false;    // for a while
    int64_t again_ns = 0;    // when it may be asked again
    int64_t unheard_ns = 0;  // since when it has said nothing to what it was told; 0: it has
    int64_t credit = 0;      // messages that it may send
    double right = 0;        // of its draft tokens lately, and of how many
    double checked = 0;
    std::set<std::string> told;  // complaints
    uint64_t look = 0;           // the last that found it
    // Answers up to this one know another one by its number. 0: no other one had it.
    uint64_t after_answer = 0;

    bool Is(const RemoteDrafter& drafter) const {
      return who.node == drafter.node && who.drafter == drafter.drafter;
    }
    bool is_usable() const { return !is_lost && !is_gone; }
    // The share of its draft tokens that were right lately.
    double record() const { return (right + 0.5) / (checked + 1); }
    void Learn(bool is_right);
  };

  void Poll();
  void Find();
  void Add(RemoteDrafter drafter);
  Peer* Place();
  void Retire(Peer& peer);
  // Whether it was sent.
  bool Push(Peer& peer, wire::Message message);
  void OnDrafts(const wire::NodeId& from, const wire::DraftTokens& drafts);
  void LeaveOut(Peer& peer, bool for_good, const std::string& why);
  void LookForSilence(Peer& peer);

  net::Network* const network_;
  const RemoteOptions options_;
  std::vector<Peer> peers_;
  uint64_t looks_ = 0;             // for drafters, that found any
  RemoteDraftCounts retired_;      // of all that are not among them any more
  std::deque<DrafterId> outcast_;  // of these, the last ones that are not to be used again
  std::map<uint64_t, Answer*> answers_;
  uint64_t last_answer_ = 0;
};

}  // namespace aster::drafting
