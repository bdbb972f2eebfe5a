// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A node's drafters, with their models and a thread of their own, so that stages and drafters do
// not wait for each other. Must not know where models come from.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "draft/proposers.h"
#include "drafting/draft_server.h"
#include "drafting/held_texts.h"
#include "engine/local_model.h"
#include "gguf/model_files.h"
#include "net/network.h"

namespace aster::drafting {

// A drafter that is loaded.
struct OwnDrafter {
  std::string model;    // the model that it drafts for, for people
  std::string drafter;  // "ngram", or a model's name
  Hash128 name;         // BeginDraft::drafter
  Vocabulary vocabulary;
  engine::DraftKind kind = engine::DraftKind::kNgram;
  double tokens_per_s = 0;                              // measured
  std::shared_ptr<const gguf::ModelFiles> files = {};   // of a draft model
  std::unique_ptr<engine::LocalModel> loaded = {};      // likewise
  std::unique_ptr<engine::ProposerSource> source = {};  // destroyed before these
  std::unique_ptr<HeldTextsReader> texts = {};          // of n-gram lookup, or none
};

// How many draft tokens the drafter makes in a second, for one text. 0: it makes none.
double MeasureDrafter(OwnDrafter& drafter, const Clock& clock);

// Start and Stop belong to one thread.
class DraftNode {
 public:
  // The network outlives it.
  DraftNode(net::Network& network, std::vector<OwnDrafter> drafters);
  ~DraftNode();
  DraftNode(const DraftNode&) = delete;
  DraftNode& operator=(const DraftNode&) = delete;

  void Start();
  void Stop();
  const std::vector<OwnDrafter>& drafters() const { return drafters_; }

  // Called by the thread that receives from the network; never waits. Returns whether the event is
  // for drafters alone.
  bool Handle(const net::Event& event) EXCLUDES(mu_);

 private:
  void Main() EXCLUDES(mu_);
  // The events that have come; waits for some if there is nothing to draft.
  std::deque<net::Event> Take(bool waits) EXCLUDES(mu_);

  net::Network& network_;
  std::vector<OwnDrafter> drafters_;
  Mutex mu_;
  CondVar changed_;
  std::deque<net::Event> events_ GUARDED_BY(mu_);
  uint64_t tokens_ GUARDED_BY(mu_) = 0;  // in them
  bool stopping_ GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace aster::drafting
