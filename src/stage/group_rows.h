// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// KV transfers of a group, whose nodes have some columns of each row: for other nodes the group is
// one stage with whole rows. The leader joins outgoing rows from the columns of all nodes,
// and divides incoming rows; these are taken once all nodes have taken their columns. Must not know
// how messages travel, nor the KV cache.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kv/chunk.h"
#include "kv/columns.h"
#include "stage/stage_memory.h"
#include "wire/messages.h"

namespace aster::stage {

// The rows of one stage of a route. Belongs to the thread that computes.
class GroupRows {
 public:
  struct Member {
    wire::NodeId node;
    kv::Columns columns;
  };
  // `group`: the number of the members' route. `own`: the columns of the leader, the
  // first; `members`: by part, from 1 on.
  GroupRows(wire::RouteId group, const kv::Columns& own, std::vector<Member> members)
      : group_(group), own_(own), members_(std::move(members)) {}

  // --- Outgoing rows.

  // Whether the leader has whole rows.
  bool has_whole_rows() const { return own_.is_whole(); }
  // False if enough rows of the sequence wait for parts: ask again when Released names the
  // sequence.
  bool MayGather(wire::SequenceId sequence);
  // Takes this node's columns of outgoing rows. Returns the order to all members to send theirs.
  wire::SendKv Gather(StageMemory::OutgoingKv own);
  // A member's columns have come. Returns the message with whole rows once all parts are there.
  Result<std::optional<StageMemory::OutgoingKv>> OnPart(const wire::NodeId& from,
                                                        wire::KvRows&& rows);
  std::set<wire::SequenceId> Released() { return std::exchange(held_back_, {}); }

  // --- Incoming rows.

  struct ForMember {
    wire::NodeId to;
    wire::KvRows rows;
  };
  // The leader has taken its columns of these whole rows. Returns the messages to the
  // members. `taken` is the reply to the sender once all members have taken their columns.
  Result<std::vector<ForMember>> Divide(const wire::NodeId& from, const kv::KvChunk& chunk,
                                        const wire::KvTaken& taken);
  struct Taken {
    wire::NodeId sender;
    wire::KvTaken reply;  // up to position 0 if a member has refused its columns
    uint32_t length = 0;  // positions that all members hold
    Error why{Code::kUnknown, ""};
  };
  // Whether rows wait for this message of the member.
  bool IsAwaited(const wire::NodeId& from, const wire::Holds& holds) const;
  // A member says what it holds. Returns the reply to the oldest rows, if they waited for no other
  // member.
  std::optional<Taken> OnHolds(const wire::NodeId& from, const wire::Holds& holds);

  // The sequence is over, or a new epoch begins: drops the rows that wait for it.
  void Forget(wire::SequenceId sequence);

 private:
  struct Gathering {
    StageMemory::OutgoingKv own;
    std::map<wire::NodeId, wire::Payload> parts;
  };
  struct Dividing {
    Taken taken;
    std::set<wire::NodeId> missing;
  };

  Result<wire::Payload> Join(const Gathering& gathering) const;

  const wire::RouteId group_;
  const kv::Columns own_;
  const std::vector<Member> members_;
  uint64_t last_ticket_ = 0;
  std::map<uint64_t, Gathering> gathering_;  // by ticket
  std::set<wire::SequenceId> held_back_;
  std::map<wire::SequenceId, std::deque<Dividing>> dividing_;  // the oldest first
};

}  // namespace aster::stage
