// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A conductor's work on sequences that no request has: computing logits of given texts, and
// exporting and importing the KV rows of sessions.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "conduct/conductor.h"
#include "kernels/rope.h"
#include "kv/chunk.h"
#include "stage/kv_in_flight.h"

namespace aster::conduct {
namespace {

// Limits for the logits or states in the result of a frame.
constexpr uint64_t kMaxRowsBytes = uint64_t{16} << 20;
constexpr uint64_t kMaxRows = 512;

// Sessions and the disk hold exact rows, for any request that comes later.
Error RowsAreNotExact() {
  return {Code::kUnimplemented,
          "the nodes' KV rows were sent in fewer bits (--wire, --kv-wire), and only exact ones are "
          "kept: leave out these options"};
}

}  // namespace

engine::Sequence Conductor::NewSequence() {
  return engine::Sequence(std::make_unique<RouteMemory>(memories_));
}

RouteMemory* Conductor::MemoryOf(engine::Sequence& sequence) const {
  const engine::SequenceMemory* const wanted = &sequence.memory();
  const auto found = std::ranges::find(memories_->all, wanted);
  return found == memories_->all.end() ? nullptr : *found;
}

Result<RouteMemory*> Conductor::IdleMemoryOf(engine::Sequence& sequence) const {
  RouteMemory* const memory = MemoryOf(sequence);
  if (memory == nullptr) return InvalidArgument("the sequence belongs to another model");
  if (const LiveRequest* const live = queue_.FindByMemory(memory)) {
    return FailedPrecondition(
        fmt::format("request {} has the sequence and is not finished", live->request.id()));
  }
  return memory;
}

// --- Logits.

// Computes the pending tokens of the sequence, and generates none.
Status Conductor::Compute(engine::Sequence& sequence, LogitsCollector logits) {
  // A request for no tokens: it ends when all of the prompt is computed.
  Status status = FailedPrecondition("the text was not computed");
  TRY(SubmitWith({.sequence = &sequence,
                  .max_tokens = 0,
                  .context_limit = kernels::kRopePositions,
                  .on_finish = [&](const engine::Finish& finish) { status = finish.status; }},
                 std::move(logits)));
  while (!idle()) TRY(Step());
  return status;
}

// How many rows of this width the result of one frame may have.
uint32_t Conductor::RowsOfFrame(uint32_t width) const {
  const uint64_t row_bytes = uint64_t{width} * sizeof(float);
  return static_cast<uint32_t>(std::clamp<uint64_t>(kMaxRowsBytes / row_bytes, 1, kMaxRows));
}

// The collector of the prompt's rows that the request asks for.
LogitsCollector Conductor::CollectorOf(const engine::Request& request) const {
  using Kind = engine::PromptRows::Kind;
  const engine::PromptRows& rows = request.rows;
  const auto tell = [on_row = rows.on_row](std::span<const float> row) {
    on_row(row);
    return Ok();
  };
  switch (rows.kind) {
    case Kind::kNone:
      break;
    case Kind::kLogits:
      return {tell, RowsOfFrame(model_.shape.vocab_size), rows.first};
    case Kind::kStates:
      return {tell, RowsOfFrame(model_.shape.embedding), rows.first, wire::Wanted::kAllStates};
    case Kind::kLastState: {
      const uint32_t length = request.sequence->length();
      return {tell, length, length - std::min(length, 1U), wire::Wanted::kLastState};
    }
  }
  return {};
}

Status Conductor::LogitsOf(std::span<const int32_t> tokens, size_t chunk, engine::LogitsSink sink) {
  engine::Sequence sequence = NewSequence();
  const auto rows = static_cast<uint32_t>(
      std::clamp<size_t>(RowsOfFrame(model_.shape.vocab_size), 1, std::max(chunk, size_t{1})));
  // Only the decode path sees KV rows after compression. So that logits show its effect, the
  // prefill path computes logits of the first half, then that half is transferred as that of any
  // prompt without logits, and the decode path computes logits of the rest.
  const bool shows_rows =
      options_.route.kv_encoding != wire::RowEncoding::kF32 && !plan().decode.empty();
  uint32_t begin = 0;
  if (const size_t middle = tokens.size() / 2; shows_rows && middle > 0) {
    sequence.SetHistory(tokens.first(middle));
    TRY(Compute(sequence, LogitsCollector(sink, rows, 0)));
    TRY(Compute(sequence, {}));
    begin = static_cast<uint32_t>(middle);
  }
  sequence.Append(tokens.subspan(sequence.length()));
  return Compute(sequence, LogitsCollector(sink, rows, begin));
}

// --- KV rows.

// Steps until `is_done`, the route breaks, or its nodes stall.
Status Conductor::TransferUntil(FunctionRef<bool()> is_done) {
  const wire::RouteId route = route_->client.id();
  last_message_ns_ = NowNs();
  while (!is_done()) {
    Tick();
    if (!route_ || route_->client.id() != route || !route_->sequence) {
      return Error(Code::kUnavailable, "a node failed while KV rows were sent: try again");
    }
    if (!route_->sequence->status().ok()) break;
    if (NowNs() - last_message_ns_ >= options_.stall_ns) {
      return Error(Code::kDeadlineExceeded,
                   fmt::format("the transfer of KV rows is stalled: no node has answered for {} s",
                               options_.stall_ns / kNsPerSecond));
    }
    int64_t deadline_ns = NowNs() + kStepNs;
    if (local_ != nullptr && local_->has_work()) {
      local_->Compute();
      deadline_ns = 0;
    }
    if (auto event = network_.Receive(deadline_ns)) Handle(*std::move(event));
  }
  return route_->sequence->status();
}

// Asks all stages what they hold of the sequence, unless that is known.
Status Conductor::StartTransfer(const engine::Sequence& sequence, RouteMemory& memory) {
  if (!is_ready()) TRY(Open());
  auto& transfer = route_->sequence;
  if (!transfer || !transfer->IsFor(memory.id(), sequence.tokens())) {
    memory.Begin();
    transfer.emplace(network_, route_->client, numbers_, memory.id(), sequence.tokens());
  }
  return TransferUntil([this] { return route_->sequence->has_begun(); });
}

Status Conductor::CheckWholeRows() const {
  return IsExact(options_.route) ? Ok() : RowsAreNotExact();
}

Status Conductor::ExportRows(engine::Sequence& sequence, uint32_t begin, uint32_t end,
                             kv::KvChunkSink sink) {
  TRY(CheckWholeRows());
  TRY(StartTransfer(sequence, *TRY(IdleMemoryOf(sequence))));
  // All stages send their layers at once; the sink gets chunks as they arrive.
  TRY(route_->sequence->StartExport(begin, end, sink));
  const Status sent = TransferUntil([this] { return route_->sequence->is_exported(); });
  if (!route_ || !route_->sequence) return sent;
  route_->sequence->EndExport();
  if (!sent.ok()) route_->sequence.reset();
  return sent;
}

Status Conductor::ImportRows(engine::Sequence& sequence, Bytes chunk) {
  TRY(CheckWholeRows());
  RouteMemory& memory = *TRY(IdleMemoryOf(sequence));
  const kv::KvChunk parsed = TRY(kv::ParseKvChunk(chunk));
  const kv::KvChunkHeader& header = parsed.header;
  const std::span<const int32_t> tokens = sequence.tokens();
  if (header.end > tokens.size() ||
      !std::ranges::equal(header.tokens, tokens.subspan(header.begin, header.end - header.begin))) {
    return FailedPrecondition("these KV rows are of another text than the sequence's");
  }
  TRY(StartTransfer(sequence, memory));
  // Each stage gets the layers that it has.
  TRY(route_->sequence->Import(parsed));
  // Several chunks may be in flight, so that no chunk waits for the round trip of the one before.
  // The last page of the text waits until all chunks are acknowledged.
  const bool is_last = tokens.size() - header.end < kernels::kPagePositions;
  const uint64_t in_flight =
      is_last ? 0 : stage::kMaxInFlightBytes / std::max<uint64_t>(chunk.size(), 1);
  const Status sent = TransferUntil([&] { return route_->sequence->IsImported(in_flight); });
  if (!sent.ok()) {
    if (route_) route_->sequence.reset();
    return sent;
  }
  memory.SetLength(route_->sequence->held());
  return Ok();
}

}  // namespace aster::conduct
