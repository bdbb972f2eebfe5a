// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// KV rows of a group, whose nodes have some columns of each, as the node that leads it passes them
// on: to other nodes the group is one stage with whole rows. What leaves is joined from the parts
// of all nodes; what comes is cut, and was taken when all have taken their part. Must not know how
// messages travel, nor what is in memory.
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

// Of one route and stage. Belongs to the thread that computes.
class GroupRows {
 public:
  struct Member {
    wire::NodeId node;
    kv::Columns columns;
  };
  // `group`: the number of the members' route. `own`: the columns of the node that leads, the
  // first; `members`: by part, from 1 on.
  GroupRows(wire::RouteId group, const kv::Columns& own, std::vector<Member> members)
      : group_(group), own_(own), members_(std::move(members)) {}

  // --- Rows that leave.

  // Whether the node that leads has whole rows.
  bool has_whole_rows() const { return own_.is_whole(); }
  // False where enough rows of a sequence wait for parts: then it is to be asked again when
  // Released names the sequence.
  bool MayGather(wire::SequenceId sequence);
  // Own columns of rows that leave; the order to all members to send theirs.
  wire::SendKv Gather(StageMemory::OutgoingKv own);
  // A member's columns have come: the message with whole rows, once all parts are there.
  Result<std::optional<StageMemory::OutgoingKv>> OnPart(const wire::NodeId& from,
                                                        wire::KvRows&& rows);
  std::set<wire::SequenceId> Released() { return std::exchange(held_back_, {}); }

  // --- Rows that come.

  struct ForMember {
    wire::NodeId to;
    wire::KvRows rows;
  };
  // Whole rows that the node that leads has taken its part of: what to send the members. `taken` is
  // the reply to their sender, when all members have taken theirs.
  Result<std::vector<ForMember>> Divide(const wire::NodeId& from, const kv::KvChunk& chunk,
                                        const wire::KvTaken& taken);
  struct Taken {
    wire::NodeId sender;
    wire::KvTaken reply;  // up to 0 where a member has refused its part
    uint32_t length = 0;  // that all members hold
    Error why{Code::kUnknown, ""};
  };
  // Whether rows wait for what the member says.
  bool IsAwaited(const wire::NodeId& from, const wire::Holds& holds) const;
  // A member says what it holds: the reply to the oldest rows that no member is missing for any
  // more.
  std::optional<Taken> OnHolds(const wire::NodeId& from, const wire::Holds& holds);

  // The sequence is over, or a new epoch begins: what waits for it is of no use.
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
