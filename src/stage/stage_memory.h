// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What a node remembers of a route's sequences in the layers that it holds for it: rows that were
// computed here, rows that came from elsewhere, and rows that are wanted elsewhere. Nothing that is
// said about a sequence is believed: what does not follow what is held, by epoch, length and hash,
// is refused. Must not know frames of work, nor how messages travel.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/local_model.h"
#include "engine/sampler.h"
#include "engine/speculation.h"
#include "stage/kv_in_flight.h"
#include "wire/messages.h"

namespace aster::stage {

inline constexpr size_t kMaxSequences = 4096;  // of a route, on a node
inline constexpr size_t kMaxKvSends = 256;     // of a sequence
// KV chunks under way of a delivery that is wanted in steps: of one that returns behind an answer.
inline constexpr size_t kMostInBackground = 1;

// Belongs to the thread that computes. The model outlives it.
class StageMemory {
 public:
  // Rows that are wanted elsewhere, and how far they have gone.
  struct KvSend {
    wire::SendKv order;
    uint32_t next = 0;
    std::deque<std::pair<uint32_t, KvInFlight::InFlightBytes>>
        in_flight;  // by the ends of what was sent

    kv::LayerRange layers() const { return {order.layer_begin, order.layer_end}; }
  };
  struct Sequence {
    explicit Sequence(kv::PageTable empty) : table(std::move(empty)) {}

    kv::PageTable table;
    uint64_t epoch = 0;
    engine::SamplingOptions sampling;
    std::vector<int32_t> stop_tokens;
    std::optional<engine::Sampler> sampler;            // with the head, once it was needed
    std::unique_ptr<engine::Speculation> speculation;  // null: nobody guesses here
    std::map<uint32_t, uint64_t> newest_attempt;       // by stage
    std::deque<KvSend> kv_sends;
  };
  // A KV chunk for another node.
  struct OutgoingKv {
    wire::NodeId to;
    wire::KvRows rows;
  };

  // `proposers` (or null) guess for answers that go on by themselves here. Rows travel in
  // `kv_encoding`; where it changes them, the model's memory is named by that (MemoryName).
  // `under_way` is shared by all that send rows from this node. With a clock, which outlives it,
  // guesses are made where they save time.
  StageMemory(wire::RouteId route, engine::LocalModel& model,
              engine::ProposerSource* proposers = nullptr,
              wire::RowEncoding kv_encoding = wire::RowEncoding::kF32,
              std::shared_ptr<KvInFlight> in_flight = std::make_shared<KvInFlight>(),
              const Clock* clock = nullptr)
      : route_(route),
        model_(model),
        proposers_(proposers),
        kv_encoding_(kv_encoding),
        in_flight_(std::move(in_flight)),
        clock_(clock) {}

  // Takes over what is remembered along the tokens; ends what was under way.
  Status Begin(const wire::Begin& begin);
  void End(wire::SequenceId sequence) { sequences_.erase(sequence); }
  // Null where it was never begun, or is over.
  Sequence* Find(wire::SequenceId sequence);
  // Whether the token ends what a stage goes on with by itself.
  bool StopsAt(wire::SequenceId sequence, int32_t token);

  // What these layers hold, as a stage says it; `why` is empty where nothing went wrong.
  wire::Holds HoldsOf(wire::SequenceId sequence, uint32_t stage, kv::LayerRange layers,
                      uint64_t attempt = 0, Error why = {Code::kUnknown, ""}) const;

  // Rows are wanted: NextRows brings them. An error if they can never be.
  Status SendKv(const wire::SendKv& order);
  // Somebody has taken rows that NextRows brought, or (up to 0) takes none of them.
  void OnKvTaken(const wire::NodeId& from, const wire::KvTaken& taken);
  // What is to be sent now, if anything is; call it until nothing is. `is_over`: no more rows are
  // computed for a while, so that few are worth sending too.
  Result<std::optional<OutgoingKv>> NextKv(wire::SequenceId sequence, bool is_over);
  // For which sequences NextRows held something back, since this was asked last.
  std::set<wire::SequenceId> TakeHeldBack() { return std::exchange(held_back_, {}); }

  // Rows from elsewhere. What is to be said to whoever sent them; nothing where they are of an
  // earlier epoch, or of a sequence that nobody wants any more.
  Result<std::optional<wire::KvTaken>> Import(const wire::KvRows& rows);

  engine::LocalModel& model() const { return model_; }
  size_t sequence_count() const { return sequences_.size(); }

 private:
  std::unique_ptr<engine::Speculation> SpeculationFor(const wire::Begin& begin,
                                                      const engine::SamplingOptions& sampling);
  Result<OutgoingKv> Export(const kv::PageTable& table, KvSend& kv_send, uint32_t have);

  const wire::RouteId route_;
  engine::LocalModel& model_;
  engine::ProposerSource* const proposers_;
  const wire::RowEncoding kv_encoding_;
  const std::shared_ptr<KvInFlight> in_flight_;
  const Clock* const clock_;              // or null
  engine::DraftTimesByKind draft_times_;  // by DraftKind
  std::set<wire::SequenceId> held_back_;
  std::map<wire::SequenceId, Sequence> sequences_;
};

// Of which layers a KV chunk's rows are. An error where it is none.
Result<kv::LayerRange> LayersOfKvChunk(Bytes chunk);

// That nothing of these rows, nor of any behind them, is taken.
wire::KvTaken TakenNothing(const wire::KvRows& rows, kv::LayerRange layers);

// As wire::Sampling says it. An error where the options make no sense.
Result<engine::SamplingOptions> SamplingFromWire(const wire::Sampling& sampling,
                                                 uint32_t vocab_size);
wire::Sampling SamplingToWire(const engine::SamplingOptions& options);

}  // namespace aster::stage
