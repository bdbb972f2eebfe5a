// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A member's generator that the ensemble's thread steps. Must not know what is asked.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "engine/generator.h"
#include "engine/sequence.h"
#include "ensemble/member_engine.h"

namespace aster::ensemble {

class SteppedEngine final : public MemberEngine {
 public:
  // The generator outlives it.
  explicit SteppedEngine(engine::Generator& generator);
  // Cancels unfinished requests.
  ~SteppedEngine() override;
  SteppedEngine(const SteppedEngine&) = delete;
  SteppedEngine& operator=(const SteppedEngine&) = delete;

  uint32_t vocab_size() const override { return generator_.shape().vocab_size; }
  void Begin(Work work) override;
  void Forget(uint64_t conversation) override;
  // Every request is finished or refused.
  bool is_idle() const;
  // One short step. If the generator fails for good, every request is refused.
  void Step();

 private:
  struct Active {
    Work work;
    engine::Sequence sequence;
    engine::RequestId id = 0;
    bool is_refused = false;
    bool is_over = false;
  };

  using Sequences = std::vector<engine::Sequence>;

  engine::Sequence SequenceFor(const Work& work);
  Sequences TakeAnswered(std::span<const int32_t> prompt);
  void Keep(Active& active);

  engine::Generator& generator_;
  std::vector<std::unique_ptr<Active>> active_;
  std::map<uint64_t, Sequences> kept_;  // by conversation
  std::vector<Sequences> answered_;     // of the last answered ones
};

}  // namespace aster::ensemble
