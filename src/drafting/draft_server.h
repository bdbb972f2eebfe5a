// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A node's drafters for front ends on other machines: these push texts to it, and it pushes back
// draft tokens that may follow. A state machine without threads and sockets: its owner passes
// events to it and calls Work. Must not know how a drafter works, nor who checks draft tokens.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "drafting/vocabulary.h"
#include "engine/proposer.h"
#include "net/network.h"
#include "wire/messages.h"

namespace aster::drafting {

struct Drafter {
  Hash128 name;  // BeginDraft::drafter
  Vocabulary vocabulary;
  // The kind in requests to its source: a draft model, or n-gram lookup.
  engine::DraftKind kind = engine::DraftKind::kNgram;
  engine::ProposerSource* source = nullptr;  // outlives the server
};

struct DraftServerOptions {
  size_t max_texts = 256;                   // of all front ends together
  size_t max_texts_of_one = 64;             // of one front end
  uint64_t max_tokens = uint64_t{4} << 20;  // of all texts together
  int64_t keep_ns = 60 * kNsPerSecond;      // how long an idle text is kept when room is needed
};

// Belongs to one thread.
class DraftServer {
 public:
  // The network outlives it.
  DraftServer(net::Network& network, std::vector<Drafter> drafters, DraftServerOptions options = {})
      : network_(network), drafters_(std::move(drafters)), options_(options) {}

  // Ignores messages that are not for drafters.
  void Handle(const net::Event& event);
  // Whether a text has fewer draft tokens ahead than are wanted.
  bool has_work() const { return Next() != nullptr; }
  // Drafts for the text with the fewest draft tokens ahead: one token, or all that a look-up finds.
  void Work();

  size_t text_count() const { return texts_.size(); }

 private:
  using TextId = std::pair<wire::NodeId, uint64_t>;
  struct Text {
    const Drafter* drafter = nullptr;
    std::unique_ptr<engine::Proposer> proposer;
    std::vector<int32_t> tokens;  // of the text, then draft tokens
    uint32_t length = 0;          // of the text
    uint32_t most = 0;            // limit of draft tokens ahead
    uint32_t tries = 0;           // tries left until the text has more tokens
    uint64_t turn = 0;            // number of its last turn
    int64_t heard_ns = 0;

    size_t ahead() const { return tokens.size() - length; }
    bool wants_more() const { return tries > 0 && ahead() < most; }
  };

  void OnBegin(const wire::NodeId& from, const wire::BeginDraft& begin);
  void OnFollow(const wire::NodeId& from, const wire::FollowDraft& follow);
  Result<Text> Open(const wire::NodeId& from, const wire::BeginDraft& begin);
  Status CheckRoom(const wire::NodeId& from, size_t tokens);
  Status CheckTokens(const Drafter& drafter, std::span<const int32_t> tokens) const;
  void Forget(const TextId& id);
  void ForgetIdle();
  void Refuse(const wire::NodeId& to, uint64_t draft, Error why);
  void SendDrafts(const TextId& id, const Text& text);
  const std::pair<const TextId, Text>* Next() const;

  net::Network& network_;
  const std::vector<Drafter> drafters_;
  const DraftServerOptions options_;
  std::map<TextId, Text> texts_;
  uint64_t tokens_ = 0;  // of all texts
  uint64_t turns_ = 0;
};

// Whether a message is for drafters.
bool IsForDrafters(const wire::Message& message);

}  // namespace aster::drafting
