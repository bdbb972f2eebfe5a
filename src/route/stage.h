// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A slice at work for one route: what it remembers of the route's sequences, and one frame of work
// at a time. Nothing that is said about a sequence is believed: work that does not follow what is
// held, by length and hash, is refused with what is held. Must not know where work comes from or
// goes to.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/local_model.h"
#include "engine/sampler.h"
#include "wire/messages.h"

namespace aster::route {

inline constexpr size_t kMaxSequences = 4096;    // of a route, on a stage
inline constexpr size_t kMaxWorkTokens = 65536;  // of all segments of a frame

// What became of a frame.
struct StageOutput {
  std::vector<wire::Holds> refused;
  std::optional<wire::Work> next;  // for the stage behind, if anything is left
  std::optional<wire::Done> done;  // of a stage with the head
  uint64_t tokens = 0;             // computed
};

// Belongs to the thread that computes. The model outlives it.
class Stage {
 public:
  Stage(wire::RouteId route, wire::RowEncoding encoding, engine::LocalModel& model)
      : route_(route), encoding_(encoding), model_(model) {}

  // Takes over what is remembered along the tokens, and says what that is.
  wire::Holds Begin(const wire::Begin& begin);
  void End(wire::SequenceId sequence) { sequences_.erase(sequence); }

  // An error if the frame cannot be what a stage before this one sends.
  Result<StageOutput> Compute(wire::Work work);

  size_t sequence_count() const { return sequences_.size(); }
  const engine::LocalModel& model() const { return model_; }

 private:
  struct SequenceState {
    explicit SequenceState(kv::PageTable empty) : table(std::move(empty)) {}

    kv::PageTable table;
    engine::SamplingOptions sampling;
    std::optional<engine::Sampler> sampler;  // with the head, once it was needed
    uint64_t newest_attempt = 0;
  };
  // A segment on its way through the slice.
  struct Share {
    wire::WorkSegment segment;
    SequenceState* state = nullptr;
    const float* hidden = nullptr;  // [tokens, embedding], where the slice has no embedding
  };

  wire::Holds HoldsOf(wire::SequenceId sequence, uint64_t attempt, Error why) const;
  Status CheckFrame(const wire::Work& work) const;
  Result<SequenceState*> Prepare(const wire::WorkSegment& segment);
  Status Run(std::vector<Share>& shares, size_t begin, size_t end, StageOutput& output);
  void Answer(const Share& share, std::span<const float> logits, wire::Done& done);
  void Choose(const Share& share, std::span<const float> logits, wire::Answer& answer);

  const wire::RouteId route_;
  const wire::RowEncoding encoding_;
  engine::LocalModel& model_;
  std::map<wire::SequenceId, SequenceState> sequences_;
  std::vector<float> rows_;  // [tokens of a frame, embedding]
};

// As wire::Sampling says it. An error where the options make no sense.
Result<engine::SamplingOptions> SamplingFromWire(const wire::Sampling& sampling,
                                                 uint32_t vocab_size);
wire::Sampling SamplingToWire(const engine::SamplingOptions& options);

}  // namespace aster::route
