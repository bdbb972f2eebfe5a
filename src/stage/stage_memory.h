// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The KV cache of a route's sequences in the layers that a node holds for it, and the KV transfers
// to and from it. Every message about a sequence is checked: one that does not continue the held
// rows, by epoch, length and hash, is refused. Must not know frames of work, nor how messages
// travel.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/local_model.h"
#include "engine/sampler.h"
#include "engine/speculation.h"
#include "kv/chunk.h"
#include "stage/kv_in_flight.h"
#include "wire/messages.h"

namespace aster::stage {

inline constexpr size_t kMaxSequences = 4096;  // of a route, on a node
inline constexpr size_t kMaxKvSends = 256;     // of a sequence
// KV chunks in flight of a transfer in steps (KV sync).
inline constexpr size_t kMostInBackground = 1;
// The step of an order whose rows go as one KV chunk, which is sent when its last row is there.
inline constexpr uint32_t kInOneChunk = UINT32_MAX;

// Belongs to the thread that computes. The model outlives it.
class StageMemory {
 public:
  // A KV transfer to another node: its order, and how far it is.
  struct KvSend {
    struct Sent {
      uint32_t end = 0;  // position
      KvInFlight::InFlightBytes bytes;
    };
    wire::SendKv order;
    uint32_t next = 0;           // the first position that was not sent
    std::deque<Sent> in_flight;  // by `end`

    kv::LayerRange layers() const { return {order.layer_begin, order.layer_end}; }
  };
  struct Sequence {
    explicit Sequence(kv::PageTable empty) : table(std::move(empty)) {}

    kv::PageTable table;
    uint64_t epoch = 0;
    engine::SamplingOptions sampling;
    std::vector<int32_t> stop_tokens;
    std::optional<engine::Sampler> sampler;            // with the head, from its first token on
    std::unique_ptr<engine::Speculation> speculation;  // null: without draft tokens
    std::map<uint32_t, uint64_t> newest_attempt;       // by stage
    std::deque<KvSend> kv_sends;
    // With the head: the newest token that was chosen here, and its position.
    struct Chosen {
      uint32_t position = 0;
      int32_t token = -1;
    };
    std::optional<Chosen> chosen;
  };
  // A KV chunk for another node.
  struct OutgoingKv {
    wire::NodeId to;
    wire::KvRows rows;
  };

  // `proposers` (or null) draft for sequences that decode here without a message for each token.
  // KV transfers use `kv_encoding`; if it changes rows, the model's memory has another name
  // (MemoryName). `in_flight` is shared by everything that sends rows from this node. With a clock,
  // which outlives it, tokens are drafted only if that saves time.
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

  // A new epoch: keeps and adopts cached rows of these tokens, and ends the epoch before.
  Status Begin(const wire::Begin& begin);
  void End(wire::SequenceId sequence) { sequences_.erase(sequence); }
  // The sequence; null if it was never begun, or is over.
  Sequence* Find(wire::SequenceId sequence);
  // Whether the token ends an answer that the stage decodes by itself.
  bool StopsAt(wire::SequenceId sequence, int32_t token);

  // The positions that these layers hold, as a message of the stage; `why` is an error or empty.
  wire::Holds HoldsOf(wire::SequenceId sequence, uint32_t stage, kv::LayerRange layers,
                      uint64_t attempt = 0, Error why = {Code::kUnknown, ""}) const;

  // Begins a KV transfer; NextKv returns its rows. An error if these layers can never have them.
  Status SendKv(const wire::SendKv& order);
  // A node has taken rows that NextKv returned; up to position 0: it refuses them and later ones.
  void OnKvTaken(const wire::NodeId& from, const wire::KvTaken& taken);
  // Whether a node has not said yet that it has taken rows that NextKv returned for it.
  bool HasInFlight(const wire::NodeId& to) const;
  // The next rows that may be sent now; call it until there are none. `is_over`: no rows will be
  // computed for a while, so steps that are not full are sent, too.
  Result<std::optional<OutgoingKv>> NextKv(wire::SequenceId sequence, bool is_over);
  // Sequences whose rows NextKv held back since the last call, because too many bytes were in
  // flight.
  std::set<wire::SequenceId> TakeHeldBack() { return std::exchange(held_back_, {}); }

  // Takes rows from another node; `rows.chunk` is passed parsed as well. Returns the reply to the
  // sender; nothing if the rows are of an earlier epoch or of a sequence that is over.
  Result<std::optional<wire::KvTaken>> ImportKv(const wire::KvRows& rows, kv::KvChunk chunk);

  engine::LocalModel& model() const { return model_; }
  size_t sequence_count() const { return sequences_.size(); }

 private:
  std::unique_ptr<engine::Speculation> SpeculationFor(const wire::Begin& begin,
                                                      const engine::SamplingOptions& sampling);
  void ShareRows(std::span<const int32_t> tokens, kv::PageTable& table) const;
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

// The reply that refuses these rows and later ones.
wire::KvTaken RefusalOf(const wire::KvRows& rows, kv::LayerRange layers);

// The sampling options of a message. An error if they make no sense.
Result<engine::SamplingOptions> SamplingFromWire(const wire::Sampling& sampling,
                                                 uint32_t vocab_size);
wire::Sampling SamplingToWire(const engine::SamplingOptions& options);

}  // namespace aster::stage
