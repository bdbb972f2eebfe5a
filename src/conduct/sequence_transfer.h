// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Transfers KV rows of a sequence without a request from the nodes of a route to the conductor, or
// back, to save and load sessions. A state machine: its owner passes messages on, and waits until
// it is done. Must not know requests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "conduct/counters.h"
#include "conduct/path.h"
#include "conduct/route_client.h"
#include "kv/prefix_hash.h"
#include "kv/transfer.h"
#include "net/network.h"
#include "wire/messages.h"

namespace aster::conduct {

// The transfer of one sequence with one history, on one route. Network, route and numbers outlive
// it.
class SequenceTransfer {
 public:
  // Asks all stages which positions of the sequence they hold.
  SequenceTransfer(net::Network& network, RouteClient& route, Numbers& numbers,
                   wire::SequenceId sequence, std::span<const int32_t> tokens);

  // Whether it transfers this sequence with this history, and has not failed.
  bool IsFor(wire::SequenceId sequence, std::span<const int32_t> tokens) const;
  wire::SequenceId sequence() const { return sequence_; }
  bool has_begun() const { return holds_.size() == route_.stages().size(); }
  // The first error.
  const Status& status() const { return status_; }

  // Call it after has_begun(): rows are sent here and passed to the sink as they come.
  Status StartExport(uint32_t begin, uint32_t end, kv::KvChunkSink sink);
  bool is_exported() const { return export_->due.empty(); }
  void EndExport() { export_.reset(); }

  // Call it after has_begun(): sends the rows of a chunk to the stages that lack them. IsImported
  // says whether each stage has acknowledged all but `in_flight` chunks.
  Status Import(const kv::KvChunk& chunk);
  bool IsImported(uint64_t in_flight) const;
  // The fewest positions that a stage of the decode path holds.
  uint32_t held() const { return HeldBy(route_.decode_path()); }

  // Whether the message was about this sequence.
  bool OnHolds(const wire::NodeId& from, const wire::Holds& holds);
  // Whether the rows were wanted.
  bool OnKvRows(const wire::NodeId& from, const wire::KvRows& rows);

 private:
  struct Export {
    kv::KvChunkSink sink;
    uint64_t ticket = 0;
    std::map<uint32_t, uint32_t> due;  // by first layer: the end of the rows that are awaited
  };

  uint32_t HeldBy(Path path) const;
  Status TakeRows(const wire::NodeId& from, const wire::KvRows& rows);

  net::Network& network_;
  RouteClient& route_;
  Numbers& numbers_;
  const wire::SequenceId sequence_;
  const uint64_t epoch_;
  kv::TokenHistory history_;
  std::map<uint32_t, uint32_t> holds_;       // positions, by stage
  std::map<uint32_t, uint32_t> unreported_;  // by stage: chunks that it has not acknowledged
  std::optional<Export> export_;
  Status status_;
};

}  // namespace aster::conduct
