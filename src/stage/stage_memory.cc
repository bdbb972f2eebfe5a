// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/stage_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/request.h"
#include "kernels/rope.h"
#include "kv/chunk.h"
#include "kv/transfer.h"
#include "stage/export_kv_chunk.h"
#include "stage/kv_chunk_encoding.h"

namespace aster::stage {

Result<engine::SamplingOptions> SamplingFromWire(const wire::Sampling& sampling,
                                                 uint32_t vocab_size) {
  engine::SamplingOptions options{.penalty_window = sampling.penalty_window,
                                  .repetition_penalty = sampling.repetition_penalty,
                                  .frequency_penalty = sampling.frequency_penalty,
                                  .presence_penalty = sampling.presence_penalty,
                                  .top_k = sampling.top_k,
                                  .typical_p = sampling.typical_p,
                                  .top_p = sampling.top_p,
                                  .min_p = sampling.min_p,
                                  .temperature = sampling.temperature,
                                  .seed = sampling.seed,
                                  .logprobs = sampling.logprobs,
                                  .top_logprobs = sampling.top_logprobs};
  for (const wire::TokenBias& bias : sampling.biases)
    options.biases.push_back({bias.id, bias.bias});
  TRY(engine::CheckSampling(options, vocab_size));
  return options;
}

wire::Sampling SamplingToWire(const engine::SamplingOptions& options) {
  wire::Sampling sampling{.penalty_window = options.penalty_window,
                          .repetition_penalty = options.repetition_penalty,
                          .frequency_penalty = options.frequency_penalty,
                          .presence_penalty = options.presence_penalty,
                          .biases = {},
                          .top_k = options.top_k,
                          .typical_p = options.typical_p,
                          .top_p = options.top_p,
                          .min_p = options.min_p,
                          .temperature = options.temperature,
                          .seed = options.seed,
                          .logprobs = options.logprobs,
                          .top_logprobs = options.top_logprobs};
  for (const engine::TokenBias& bias : options.biases) {
    sampling.biases.push_back({bias.id, bias.bias});
  }
  return sampling;
}

Status StageMemory::Begin(const wire::Begin& begin) {
  const uint32_t vocab_size = model_.shape().vocab_size;
  if (begin.tokens.size() >= kernels::kRopePositions) {
    return OutOfRange(fmt::format("a history of {} tokens; at most {} can be computed",
                                  begin.tokens.size(), kernels::kRopePositions));
  }
  for (const int32_t token : begin.tokens) {
    if (token < 0 || static_cast<uint32_t>(token) >= vocab_size) {
      return InvalidArgument(fmt::format("token {} of a vocabulary of {}", token, vocab_size));
    }
  }
  // All of the message is checked before anything is changed.
  engine::SamplingOptions sampling = TRY(SamplingFromWire(begin.sampling, vocab_size));
  if (!sequences_.contains(begin.sequence) && sequences_.size() >= kMaxSequences) {
    return ResourceExhausted(
        fmt::format("{} sequences are held, which is the most for a route", sequences_.size()));
  }
  // Ends everything of the epoch before, including its KV transfers.
  Sequence& sequence = sequences_.try_emplace(begin.sequence, model_.NewTable()).first->second;
  sequence.epoch = begin.epoch;
  sequence.speculation = SpeculationFor(begin, sampling);
  sequence.sampling = std::move(sampling);
  sequence.stop_tokens = begin.stop_tokens;
  sequence.sampler.reset();
  sequence.kv_sends.clear();
  // Keeps the rows that agree with the new tokens, and adopts more of them from the cache. The last
  // token is always computed, as its logits are needed.
  kv::PageTable& table = sequence.table;
  const uint32_t equal = table.history().CountEqual(0, begin.tokens);
  if (equal < table.history().length()) table.Truncate(equal);
  if (begin.tokens.size() > 1) {
    const auto wanted = std::span(begin.tokens).first(begin.tokens.size() - 1);
    table.Adopt(wanted);
    ShareRows(wanted, table);
  }
  return Ok();
}

// Shares rows with the sequence that has most of the tokens, such as the one that this sequence was
// forked from. Adopt finds only full pages by their hashes; this shares all rows.
void StageMemory::ShareRows(std::span<const int32_t> tokens, kv::PageTable& table) const {
  const uint32_t held = table.length();
  const Hash128 hash = table.history().HashAt(held);
  const kv::PageTable* best = nullptr;
  uint32_t most = held;
  for (const auto& [id, other] : sequences_) {
    const uint32_t length = other.table.length();
    if (length <= most || other.table.history().HashAt(held) != hash) continue;
    const uint32_t equal =
        std::min(length, held + other.table.history().CountEqual(held, tokens.subspan(held)));
    if (equal <= most) continue;
    best = &other.table;
    most = equal;
  }
  if (best == nullptr) return;
  kv::PageTable shared = best->Fork();
  // With a sliding window, Truncate may drop more rows.
  if (shared.Truncate(most) > held) table = std::move(shared);
}

// Null if this node cannot draft in that way: the answer is the same without draft tokens.
std::unique_ptr<engine::Speculation> StageMemory::SpeculationFor(
    const wire::Begin& begin, const engine::SamplingOptions& sampling) {
  const auto kind = static_cast<engine::DraftKind>(begin.draft_kind);
  const bool is_known = kind == engine::DraftKind::kNgram || kind == engine::DraftKind::kMtp;
  const uint32_t most = std::min<uint32_t>(begin.draft_most, engine::kMostDrafts);
  if (proposers_ == nullptr || !is_known || most == 0) return nullptr;
  engine::Request request;
  request.sampling = sampling;
  request.draft = {.kind = kind, .most = most};
  auto proposer = proposers_->Make(request);
  if (!proposer.ok()) return nullptr;
  return std::make_unique<engine::Speculation>(
      *std::move(proposer), request.draft, model_.shape().vocab_size,
      engine::DraftTiming{.clock = clock_, .times = &draft_times_});
}

StageMemory::Sequence* StageMemory::Find(wire::SequenceId sequence) {
  const auto found = sequences_.find(sequence);
  return found == sequences_.end() ? nullptr : &found->second;
}

bool StageMemory::StopsAt(wire::SequenceId sequence, int32_t token) {
  const Sequence* const state = Find(sequence);
  return state == nullptr || std::ranges::count(state->stop_tokens, token) > 0;
}

wire::Holds StageMemory::HoldsOf(wire::SequenceId sequence, uint32_t stage, kv::LayerRange layers,
                                 uint64_t attempt, Error why) const {
  wire::Holds holds;
  holds.route = route_;
  holds.sequence = sequence;
  holds.attempt = attempt;
  holds.why = std::move(why);
  holds.stage = stage;
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end()) {
    holds.hash = model_.layout().digest();
    return holds;
  }
  const kv::PageTable& table = found->second.table;
  // The conductor uses the rows only if both length and hash agree with its text.
  holds.length = table.length(layers);
  holds.hash = table.history().HashAt(holds.length);
  holds.epoch = found->second.epoch;
  return holds;
}

Status StageMemory::SendKv(const wire::SendKv& order) {
  Sequence* const sequence = Find(order.sequence);
  // A late order: its epoch has ended.
  if (sequence == nullptr || sequence->epoch != order.epoch) return Ok();
  const kv::LayerRange layers = {order.layer_begin, order.layer_end};
  if (layers.begin >= layers.end || !sequence->table.layers().Contains(layers) ||
      order.begin > order.end || order.step == 0) {
    return InvalidArgument(fmt::format(
        "an order to send rows {} to {} of layers {} to {}, of which this node has {} to {}",
        order.begin, order.end, layers.begin, layers.end, sequence->table.layers().begin,
        sequence->table.layers().end));
  }
  // A later order for the same rows takes the place of an earlier one.
  std::erase_if(sequence->kv_sends, [&](const KvSend& other) {
    return other.order.to == order.to && other.order.ticket == order.ticket &&
           other.layers() == layers;
  });
  if (sequence->kv_sends.size() >= kMaxKvSends) {
    return ResourceExhausted(
        fmt::format("{} KV transfers of one sequence, and no more are allowed", kMaxKvSends));
  }
  sequence->kv_sends.push_back({.order = order, .next = order.begin, .in_flight = {}});
  return Ok();
}

void StageMemory::OnKvTaken(const wire::NodeId& from, const wire::KvTaken& taken) {
  Sequence* const sequence = Find(taken.sequence);
  if (sequence == nullptr || sequence->epoch != taken.epoch) return;
  std::erase_if(sequence->kv_sends, [&](KvSend& kv_send) {
    if (kv_send.order.to != from || kv_send.order.ticket != taken.ticket ||
        kv_send.layers() != kv::LayerRange{taken.layer_begin, taken.layer_end}) {
      return false;
    }
    // Chunks arrive in order: if one was taken, so were all before it.
    while (!kv_send.in_flight.empty() && kv_send.in_flight.front().end <= taken.end) {
      kv_send.in_flight.pop_front();
    }
    return taken.end == 0;  // refused: the transfer ends
  });
}

bool StageMemory::HasInFlight(const wire::NodeId& to) const {
  return std::ranges::any_of(sequences_, [&](const auto& item) {
    return std::ranges::any_of(item.second.kv_sends, [&](const KvSend& kv_send) {
      return kv_send.order.to == to && !kv_send.in_flight.empty();
    });
  });
}

Result<std::optional<StageMemory::OutgoingKv>> StageMemory::NextKv(wire::SequenceId id,
                                                                   bool is_over) {
  Sequence* const sequence = Find(id);
  if (sequence == nullptr) return std::optional<OutgoingKv>();
  for (size_t i = 0; i < sequence->kv_sends.size(); ++i) {
    KvSend& kv_send = sequence->kv_sends[i];
    // Enough rows must be computed and not sent: a step, or fewer if no more are coming.
    const uint32_t have = std::min(sequence->table.length(kv_send.layers()), kv_send.order.end);
    if (have <= kv_send.next) continue;
    const bool in_one = kv_send.order.step == kInOneChunk;
    const bool is_last = have == kv_send.order.end || (is_over && !in_one);
    if (!is_last && have - kv_send.next < kv_send.order.step) continue;
    // KV sync (the only transfer in steps) must not delay the answer, so one step is in flight at a
    // time. After the end of the answer it sends pages, like other transfers.
    const bool is_sync = kv_send.order.step > 1 && !in_one;
    if (is_sync && kv_send.in_flight.size() >= kMostInBackground) continue;
    // The bytes in flight to the receiver are bounded. TakeHeldBack names the sequence, so that the
    // caller tries again once the receiver has taken rows.
    if (!in_flight_->MaySend(kv_send.order.to, !kv_send.in_flight.empty())) {
      held_back_.insert(id);
      continue;
    }
    const bool in_steps = is_sync && !is_over;
    const uint32_t end = in_steps ? std::min(have, kv_send.next + kv_send.order.step) : have;
    Result<OutgoingKv> rows = Export(sequence->table, kv_send, end);
    if (rows.ok()) return std::optional(*std::move(rows));
    // The rows were freed behind a sliding window: the transfer ends, and the conductor is told.
    sequence->kv_sends.erase(sequence->kv_sends.begin() + static_cast<ptrdiff_t>(i));
    return std::move(rows).error();
  }
  std::erase_if(sequence->kv_sends, [](const KvSend& kv_send) {
    return kv_send.next >= kv_send.order.end && kv_send.in_flight.empty();
  });
  return std::optional<OutgoingKv>();
}

// Exports rows up to the end of a page, so that the receiver can use them while the rest is in
// flight; or all rows, if pages between are outside a sliding window and were freed.
Result<StageMemory::OutgoingKv> StageMemory::Export(const kv::PageTable& table, KvSend& kv_send,
                                                    uint32_t have) {
  const uint32_t page_positions = table.layout().page_positions();
  const uint32_t page_end = kv_send.order.step == kInOneChunk
                                ? have
                                : (kv_send.next / page_positions + 1) * page_positions;
  OutgoingKv outgoing{.to = kv_send.order.to, .rows = {}};
  wire::Payload& chunk = outgoing.rows.chunk;
  const auto export_to = [&](uint32_t end) {
    return ExportKvChunk(table, kv_send.layers(), kv_send.next, end, chunk);
  };
  uint32_t end = std::min(page_end, have);
  Status exported = export_to(end);
  if (!exported.ok() && end < have) exported = export_to(end = have);
  TRY(std::move(exported));
  if (kv_encoding_ != wire::RowEncoding::kF32) {
    chunk = TRY(CompressKvChunk(table.layout(), model_.isa(), TRY(kv::ParseKvChunk(chunk))));
    outgoing.rows.encoding = kv_encoding_;
  }
  // In flight until the receiver says that it has taken the chunk.
  kv_send.next = end;
  kv_send.in_flight.push_back({.end = end, .bytes = {in_flight_, kv_send.order.to, chunk.size()}});
  outgoing.rows.route = route_;
  outgoing.rows.sequence = kv_send.order.sequence;
  outgoing.rows.epoch = kv_send.order.epoch;
  outgoing.rows.ticket = kv_send.order.ticket;
  return outgoing;
}

wire::KvTaken RefusalOf(const wire::KvRows& rows, kv::LayerRange layers) {
  return {.route = rows.route,
          .sequence = rows.sequence,
          .epoch = rows.epoch,
          .ticket = rows.ticket,
          .layer_begin = layers.begin,
          .layer_end = layers.end,
          .end = 0};
}

Result<std::optional<wire::KvTaken>> StageMemory::ImportKv(const wire::KvRows& rows,
                                                           kv::KvChunk chunk) {
  Sequence* const sequence = Find(rows.sequence);
  // Rows of an epoch that has ended are dropped: the sender does not wait for a reply.
  if (sequence == nullptr || sequence->epoch != rows.epoch) return std::optional<wire::KvTaken>();
  wire::Payload plain;
  if (rows.encoding != wire::RowEncoding::kF32) {
    // Compressed rows are not exact: only a KV cache that is named by their encoding takes them.
    if (rows.encoding != kv_encoding_) {
      return FailedPrecondition("rows that are not exact, on a route whose KV transfers are exact");
    }
    // Decompressing replaces the blocks only; the parsed header stays valid.
    plain = TRY(DecompressKvChunk(model_.layout(), model_.isa(), chunk));
    chunk.blocks = Bytes(plain).subspan(chunk.head.size());
  }
  // The table checks that the rows continue what it holds.
  TRY(kv::Import(sequence->table, chunk));
  return std::optional(wire::KvTaken{.route = route_,
                                     .sequence = rows.sequence,
                                     .epoch = rows.epoch,
                                     .ticket = rows.ticket,
                                     .layer_begin = chunk.header.layers.begin,
                                     .layer_end = chunk.header.layers.end,
                                     .end = chunk.header.end});
}

}  // namespace aster::stage
