// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What computes the requests of one member: a generator that the ensemble steps itself
// (stepped_engine.h), one that has a thread (threaded_engine.h), or the loop of a server, which
// others use too. Must not know what is asked.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/request.h"

namespace aster::ensemble {

// A request. Its callbacks come on the thread that computes it.
struct Work {
  std::string client = {};       // whose it is, where clients take turns
  std::vector<int32_t> prompt;   // tokens
  engine::Request request = {};  // without a sequence
  bool is_followup = false;      // behind another of the same question, whose place it has
  // Requests of one conversation go on with its KV rows, whatever their prompts share; 0: of none.
  uint64_t conversation = 0;
  // Beside what the conversation has, which stays; of what the prompt goes on from, as part of it.
  bool is_branch = false;
  bool is_rating = false;  // of a text that may not be taken
  // Nothing is wanted of it any more; asked before every step. What has not begun then ends without
  // a callback.
  std::function<bool()> is_gone = nullptr;
  // Instead of on_finish: it was not computed.
  std::function<void(const Error&)> on_refused = nullptr;
};

class MemberEngine {
 public:
  virtual ~MemberEngine() = default;
  virtual uint32_t vocab_size() const = 0;
  // Called on the ensemble's thread.
  virtual void Begin(Work work) = 0;
  // The question is answered; another may go on from it.
  virtual void Forget(uint64_t /*conversation*/) {}
};

}  // namespace aster::ensemble
