// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A member's generator that has a thread of its own: what it waits for, such as other machines,
// keeps no other member waiting. Must not know what is asked.
#pragma once

#include <cstdint>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "ensemble/mailbox.h"
#include "ensemble/stepped_engine.h"

namespace aster::ensemble {

class ThreadedEngine final : public MemberEngine {
 public:
  // Both outlive it; the generator is this thread's until then.
  ThreadedEngine(engine::Generator& generator, Clock& clock)
      : engine_(generator), clock_(clock), thread_([this] { Run(); }) {}
  // Requests that are not finished are cancelled.
  ~ThreadedEngine() override {
    mailbox_.Post([this] { is_ending_ = true; });
    thread_.join();
  }
  ThreadedEngine(const ThreadedEngine&) = delete;
  ThreadedEngine& operator=(const ThreadedEngine&) = delete;

  uint32_t vocab_size() const override { return engine_.vocab_size(); }
  void Begin(Work work) override {
    mailbox_.Post([this, work = std::move(work)] { engine_.Begin(work); });
  }
  void Forget(uint64_t conversation) override {
    mailbox_.Post([this, conversation] { engine_.Forget(conversation); });
  }

 private:
  void Run() {
    while (!is_ending_) {
      if (engine_.is_idle()) mailbox_.Await(clock_, kNeverNs);
      for (const Mailbox::Letter& letter : mailbox_.TakeAll()) letter();
      engine_.Step();
    }
  }

  SteppedEngine engine_;
  Clock& clock_;
  Mailbox mailbox_;
  bool is_ending_ = false;  // of its thread
  std::thread thread_;
};

}  // namespace aster::ensemble
