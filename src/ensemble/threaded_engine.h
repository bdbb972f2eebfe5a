// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A member's generator on a thread of its own: when it waits, for example for other machines, no
// other member waits. Must not know what is asked.
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
  // Both outlive it; meanwhile the generator belongs to its thread.
  ThreadedEngine(engine::Generator& generator, Clock& clock)
      : engine_(generator), clock_(clock), thread_([this] { Run(); }) {}
  // Cancels unfinished requests.
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
      for (const Mailbox::Task& task : mailbox_.TakeAll()) task();
      engine_.Step();
    }
  }

  SteppedEngine engine_;
  Clock& clock_;
  Mailbox mailbox_;
  bool is_ending_ = false;  // its thread is ending
  std::thread thread_;
};

}  // namespace aster::ensemble
