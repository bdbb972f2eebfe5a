// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What nodes remember of a text, fetched from them and given to them.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "conduct/conductor.h"
#include "conduct/live_request.h"
#include "kv/chunk.h"
#include "stage/stage_memory.h"

namespace aster::conduct {
namespace {

// What has a place of its own is exact, whoever asks for it later.
Error RowsAreNotExact() {
  return {
      Code::kUnimplemented,
      "what the nodes remember travelled in fewer bits (--wire, --kv-wire), and what is kept is "
      "exact"};
}

}  // namespace

// Of a sequence that no request has.
Result<RouteMemory*> Conductor::MemoryToMove(engine::Sequence& sequence) const {
  RouteMemory* const memory = MemoryOf(sequence);
  if (memory == nullptr) return InvalidArgument("the sequence belongs to another model");
  for (const Lives* lives : {&waiting_, &running_}) {
    for (const auto& live : *lives) {
      if (live->memory != memory) continue;
      return FailedPrecondition(
          fmt::format("request {} has the sequence and is not finished", live->request.id()));
    }
  }
  return memory;
}

// Goes on until `is_done`, or the route breaks, or nobody says anything.
Status Conductor::MoveUntil(FunctionRef<bool()> is_done) {
  const wire::RouteId route = route_->id();
  heard_ns_ = network_.clock().NowNs();
  while (!is_done()) {
    Tick();
    if (!route_ || route_->id() != route) {
      return Error(Code::kUnavailable, "a node went away while rows were on their way: try again");
    }
    if (!move_->why.ok()) return move_->why;
    if (network_.clock().NowNs() - heard_ns_ >= options_.stall_ns) {
      return Error(Code::kDeadlineExceeded,
                   fmt::format("rows are on their way, and no node has said anything for {} s",
                               options_.stall_ns / kNsPerSecond));
    }
    int64_t deadline_ns = network_.clock().NowNs() + kStepNs;
    if (own_ != nullptr && own_->has_work()) {
      own_->Compute();
      deadline_ns = 0;
    }
    if (auto event = network_.Receive(deadline_ns)) Handle(*std::move(event));
  }
  return move_->why;
}

// Asks all stages what they hold of the sequence, unless that is known.
Status Conductor::BeginMove(const engine::Sequence& sequence, const RouteMemory& memory) {
  if (!route_ || !route_->is_ready()) TRY(Open());
  kv::TokenHistory history(digest_);
  history.Append(sequence.tokens());
  const bool is_known = move_ && move_->route == route_->id() && move_->sequence == memory.id() &&
                        move_->history.hash() == history.hash() && move_->why.ok();
  if (is_known) return Ok();
  move_.emplace(Move{.route = route_->id(),
                     .sequence = memory.id(),
                     .epoch = ++last_epoch_,
                     .history = std::move(history),
                     .holds = {},
                     .ticket = 0,
                     .sink = nullptr,
                     .due = {},
                     .holds_due = {},
                     .why = Ok()});
  route_->SendToAll(wire::Begin{.route = route_->id(),
                                .sequence = memory.id(),
                                .tokens = sequence.tokens(),
                                .sampling = {},
                                .epoch = move_->epoch,
                                .stop_tokens = {}});
  return MoveUntil([this] { return move_->holds.size() == route_->stages().size(); });
}

// Those that hold the most of it.
Conductor::Path Conductor::HoldersOf(const Move& move) const {
  const auto least = [&](Path path) {
    uint32_t length = kv::kMaxPositions;
    for (uint32_t stage = path.begin; stage < path.end; ++stage) {
      length = std::min(length, move.holds.at(stage));
    }
    return length;
  };
  return least(DecodingPath()) >= least(ReadingPath()) ? DecodingPath() : ReadingPath();
}

Status Conductor::ExportRows(engine::Sequence& sequence, uint32_t begin, uint32_t end,
                             kv::KvChunkSink sink) {
  if (!IsExact(options_.route)) return RowsAreNotExact();
  const RouteMemory& memory = *TRY(MemoryToMove(sequence));
  TRY(BeginMove(sequence, memory));
  const Path path = HoldersOf(*move_);
  for (uint32_t stage = path.begin; stage < path.end; ++stage) {
    if (move_->holds.at(stage) >= end) continue;
    return OutOfRange(fmt::format("positions {} to {} are wanted, and {} holds up to {}", begin,
                                  end, route_->stages()[stage].node.name, move_->holds.at(stage)));
  }
  move_->ticket = ++last_ticket_;
  move_->sink = &sink;
  for (uint32_t stage = path.begin; stage < path.end && begin < end; ++stage) {
    const plan::PlanStage& holder = route_->stages()[stage];
    move_->due[holder.slice.layer_begin] = end;
    route_->Send(holder.node.id, wire::SendKv{.route = route_->id(),
                                              .sequence = memory.id(),
                                              .epoch = move_->epoch,
                                              .layer_begin = holder.slice.layer_begin,
                                              .layer_end = holder.slice.layer_end,
                                              .begin = begin,
                                              .end = end,
                                              .step = 1,
                                              .to = network_.self(),
                                              .ticket = move_->ticket});
  }
  const Status moved = MoveUntil([this] { return move_->due.empty(); });
  if (move_) move_->sink = nullptr;
  if (!moved.ok()) move_.reset();
  return moved;
}

// Of the sequence that is being moved.
void Conductor::OnKvRows(const wire::NodeId& from, const wire::KvRows& rows) {
  if (!move_ || move_->sink == nullptr || rows.ticket != move_->ticket ||
      rows.epoch != move_->epoch || !move_->why.ok()) {
    // Nobody wants them any more, which whoever gives them has to know.
    const auto layers = stage::LayersOfKvChunk(rows.chunk);
    if (layers.ok()) static_cast<void>(network_.Send(from, stage::TakenNothing(rows, *layers)));
    return;
  }
  heard_ns_ = network_.clock().NowNs();
  const auto take = [&]() -> Status {
    ByteReader reader(rows.chunk);
    const kv::KvChunkHeader header = TRY(kv::ReadHeader(reader));
    const auto due = move_->due.find(header.layers.begin);
    if (due == move_->due.end()) return DataLoss("rows came that nobody asked for");
    TRY((*move_->sink)(rows.chunk));
    if (header.end >= due->second) move_->due.erase(due);
    route_->Send(from, wire::KvTaken{.route = rows.route,
                                     .sequence = rows.sequence,
                                     .epoch = rows.epoch,
                                     .ticket = rows.ticket,
                                     .layer_begin = header.layers.begin,
                                     .layer_end = header.layers.end,
                                     .end = header.end});
    return Ok();
  };
  move_->why = take();
}

// Whether it was about the sequence that is being moved.
bool Conductor::TakeHoldsOfMove(const wire::NodeId& from, const wire::Holds& holds) {
  if (!move_ || holds.sequence != move_->sequence || holds.epoch != move_->epoch) return false;
  if (holds.stage >= route_->stages().size() || route_->stages()[holds.stage].node.id != from) {
    return true;
  }
  if (uint32_t& due = move_->holds_due[holds.stage]; due > 0) --due;
  if (!holds.why.message().empty()) {
    move_->why = holds.why;
    return true;
  }
  const bool is_ours =
      holds.length <= move_->history.length() && move_->history.HashAt(holds.length) == holds.hash;
  move_->holds[holds.stage] = is_ours ? holds.length : 0;
  return true;
}

Status Conductor::ImportRows(engine::Sequence& sequence, Bytes chunk) {
  if (!IsExact(options_.route)) return RowsAreNotExact();
  RouteMemory& memory = *TRY(MemoryToMove(sequence));
  ByteReader reader(chunk);
  const kv::KvChunkHeader header = TRY(kv::ReadHeader(reader));
  const std::span<const int32_t> tokens = sequence.tokens();
  if (header.end > tokens.size() ||
      !std::ranges::equal(header.tokens, tokens.subspan(header.begin, header.end - header.begin))) {
    return FailedPrecondition("these rows are of another text than the sequence's");
  }
  TRY(BeginMove(sequence, memory));
  for (uint32_t stage = 0; stage < route_->stages().size(); ++stage) {
    const plan::PlanStage& target = route_->stages()[stage];
    const kv::LayerRange layers = {std::max(target.slice.layer_begin, header.layers.begin),
                                   std::min(target.slice.layer_end, header.layers.end)};
    if (layers.begin >= layers.end || move_->holds.at(stage) >= header.end) continue;
    const std::vector<uint8_t> part = TRY(kv::CutKvChunk(chunk, layers));
    route_->Send(target.node.id, wire::KvRows{.route = route_->id(),
                                              .sequence = memory.id(),
                                              .epoch = move_->epoch,
                                              .ticket = 0,
                                              .chunk = {part.begin(), part.end()}});
    // Each stage of the node that has any of these layers says what it holds then.
    for (uint32_t other = 0; other < route_->stages().size(); ++other) {
      const plan::PlanStage& beside = route_->stages()[other];
      const bool overlaps =
          beside.slice.layer_begin < layers.end && layers.begin < beside.slice.layer_end;
      if (beside.node.id == target.node.id && overlaps) ++move_->holds_due[other];
    }
  }
  // Several are under way, so that nobody waits for the way and back of each. Who sends a text's
  // last page waits for all of them.
  const bool is_last = tokens.size() - header.end < page_positions_;
  const uint64_t most =
      is_last ? 0 : stage::kMaxInFlightBytes / std::max<uint64_t>(chunk.size(), 1);
  const Status moved = MoveUntil([&] {
    return std::ranges::all_of(move_->holds_due,
                               [&](const auto& due) { return due.second <= most; });
  });
  if (!moved.ok()) {
    move_.reset();
    return moved;
  }
  uint32_t held = kv::kMaxPositions;
  const Path path = DecodingPath();
  for (uint32_t stage = path.begin; stage < path.end; ++stage) {
    held = std::min(held, move_->holds.at(stage));
  }
  memory.SetLength(held);
  return Ok();
}

}  // namespace aster::conduct
