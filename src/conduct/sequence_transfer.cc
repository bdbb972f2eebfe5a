// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/sequence_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kv/chunk.h"
#include "stage/transfer_ticket.h"

namespace aster::conduct {
namespace {

kv::LayerRange Common(const model::Slice& slice, kv::LayerRange layers) {
  return {std::max(slice.layer_begin, layers.begin), std::min(slice.layer_end, layers.end)};
}

bool IsEmpty(kv::LayerRange layers) { return layers.begin >= layers.end; }

}  // namespace

SequenceTransfer::SequenceTransfer(net::Network& network, RouteClient& route, Numbers& numbers,
                                   wire::SequenceId sequence, std::span<const int32_t> tokens)
    : network_(network),
      route_(route),
      numbers_(numbers),
      sequence_(sequence),
      epoch_(++numbers.epoch),
      history_(route.layout().digest()) {
  // Stages begin the text as for a request, and reply how much of it they hold.
  history_.Append(tokens);
  route_.SendToAll(wire::Begin{.route = route_.id(),
                               .sequence = sequence_,
                               .tokens = {tokens.begin(), tokens.end()},
                               .sampling = {},
                               .epoch = epoch_,
                               .stop_tokens = {}});
}

bool SequenceTransfer::IsFor(wire::SequenceId sequence, std::span<const int32_t> tokens) const {
  return status_.ok() && sequence == sequence_ && std::ranges::equal(tokens, history_.tokens());
}

uint32_t SequenceTransfer::HeldBy(Path path) const {
  // A path holds what all of its stages hold.
  uint32_t least = kv::kMaxPositions;
  for (uint32_t stage = path.begin; stage < path.end; ++stage) {
    least = std::min(least, holds_.at(stage));
  }
  return least;
}

bool SequenceTransfer::OnHolds(const wire::NodeId& from, const wire::Holds& holds) {
  if (holds.sequence != sequence_ || holds.epoch != epoch_) return false;
  // Every stage that has some layers of a chunk replies to it once.
  if (!route_.IsStageOf(from, holds.stage)) return true;
  if (uint32_t& count = unreported_[holds.stage]; count > 0) --count;
  if (!holds.why.message().empty()) {
    status_ = holds.why;
    return true;
  }
  // Rows of another text do not count.
  const bool is_ours =
      holds.length <= history_.length() && history_.HashAt(holds.length) == holds.hash;
  holds_[holds.stage] = is_ours ? holds.length : 0;
  return true;
}

// --- To the conductor.

Status SequenceTransfer::StartExport(uint32_t begin, uint32_t end, kv::KvChunkSink sink) {
  // Exports from the path that holds the most; it has to hold all wanted rows.
  const bool is_decoded = HeldBy(route_.decode_path()) >= HeldBy(route_.prefill_path());
  const Path path = is_decoded ? route_.decode_path() : route_.prefill_path();
  for (uint32_t stage = path.begin; stage < path.end; ++stage) {
    if (holds_.at(stage) >= end) continue;
    return OutOfRange(fmt::format("node {} holds positions 0 to {}, not {} to {} as asked for",
                                  route_.stages()[stage].node.name, holds_.at(stage), begin, end));
  }
  // Each stage of the path sends the layers of its slice.
  export_.emplace(Export{.sink = sink, .ticket = ++numbers_.ticket, .due = {}});
  for (uint32_t stage = path.begin; stage < path.end && begin < end; ++stage) {
    const plan::PlanStage& source = route_.stages()[stage];
    export_->due[source.slice.layer_begin] = end;
    route_.Send(source.node.id,
                wire::SendKv{.route = route_.id(),
                             .sequence = sequence_,
                             .epoch = epoch_,
                             .layer_begin = source.slice.layer_begin,
                             .layer_end = source.slice.layer_end,
                             .begin = begin,
                             .end = end,
                             .step = 1,
                             .to = network_.self(),
                             .ticket = route_.TicketOf({stage, stage}, export_->ticket)});
  }
  return Ok();
}

bool SequenceTransfer::OnKvRows(const wire::NodeId& from, const wire::KvRows& rows) {
  // Late rows of an earlier export have another ticket.
  const bool is_wanted =
      export_ && stage::NumberOf(rows.ticket) == export_->ticket && rows.epoch == epoch_;
  if (!is_wanted || !status_.ok()) return false;
  status_ = TakeRows(from, rows);
  return true;
}

Status SequenceTransfer::TakeRows(const wire::NodeId& from, const wire::KvRows& rows) {
  const kv::KvChunk chunk = TRY(kv::ParseKvChunk(rows.chunk));
  const kv::KvChunkHeader& header = chunk.header;
  // The chunk must be of a stage that still has to send rows.
  const auto due = export_->due.find(header.layers.begin);
  if (due == export_->due.end()) {
    return DataLoss(
        fmt::format("node {} sent KV rows of layers {} to {}, which it was not asked for",
                    from.ToText(), header.layers.begin, header.layers.end - 1));
  }
  TRY(export_->sink(rows.chunk));
  if (header.end >= due->second) export_->due.erase(due);
  // The node sends more rows once these are acknowledged.
  route_.Send(from, wire::KvTaken{.route = rows.route,
                                  .sequence = rows.sequence,
                                  .epoch = rows.epoch,
                                  .ticket = rows.ticket,
                                  .layer_begin = header.layers.begin,
                                  .layer_end = header.layers.end,
                                  .end = header.end});
  return Ok();
}

// --- To the nodes.

Status SequenceTransfer::Import(const kv::KvChunk& chunk) {
  const kv::KvChunkHeader& header = chunk.header;
  for (uint32_t stage = 0; stage < route_.stages().size(); ++stage) {
    const plan::PlanStage& target = route_.stages()[stage];
    // Stages that hold these positions already need nothing.
    const kv::LayerRange layers = Common(target.slice, header.layers);
    if (IsEmpty(layers) || holds_.at(stage) >= header.end) continue;
    const std::vector<uint8_t> part = TRY(kv::CutKvChunk(chunk, layers));
    route_.Send(target.node.id, wire::KvRows{.route = route_.id(),
                                             .sequence = sequence_,
                                             .epoch = epoch_,
                                             .ticket = route_.TicketOf({stage, stage}),
                                             .chunk = {part.begin(), part.end()}});
    // Each stage of the node with any of these layers will reply what it holds.
    for (uint32_t other = 0; other < route_.stages().size(); ++other) {
      const plan::PlanStage& beside = route_.stages()[other];
      const bool is_apart = target.is_group() || beside.is_group();
      const bool is_same = other == stage || (beside.node.id == target.node.id && !is_apart);
      if (is_same && !IsEmpty(Common(beside.slice, layers))) ++unreported_[other];
    }
  }
  return Ok();
}

bool SequenceTransfer::IsImported(uint64_t in_flight) const {
  return std::ranges::all_of(unreported_,
                             [&](const auto& count) { return count.second <= in_flight; });
}

}  // namespace aster::conduct
