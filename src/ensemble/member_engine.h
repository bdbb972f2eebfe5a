// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Computes the requests of one member: a generator that the ensemble steps itself
// (stepped_engine.h), one with a thread (threaded_engine.h), or the loop of a server with other
// clients. Must not know what is asked.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/request.h"

namespace aster::ensemble {

// A request. The computing thread calls its callbacks.
struct Work {
  std::string client = {};       // for taking turns with other clients
  std::vector<int32_t> prompt;   // tokens
  engine::Request request = {};  // without a sequence
  bool is_followup = false;      // follows another one of the same question, in its place
  // Requests of one conversation continue its KV rows, whatever their prompts share; 0: none.
  uint64_t conversation = 0;
  // Branches off and leaves the conversation's sequence; if the prompt continues a whole sequence,
  // it becomes part of it.
  bool is_branch = false;
  bool is_rating = false;  // of a text that may not be taken
  // Whether the result is not wanted any more; called before every step. A request that has not
  // begun then ends without a callback.
  std::function<bool()> is_gone = nullptr;
  // Called instead of on_finish if it was not computed.
  std::function<void(const Error&)> on_refused = nullptr;
};

class MemberEngine {
 public:
  virtual ~MemberEngine() = default;
  virtual uint32_t vocab_size() const = 0;
  // Called on the ensemble's thread.
  virtual void Begin(Work work) = 0;
  // The question is answered; another one may continue from it.
  virtual void Forget(uint64_t /*conversation*/) {}
};

}  // namespace aster::ensemble
