// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A node's place in a group, whose nodes compute the same layers together (tensor parallel): the
// jobs (forward passes) that they compute, and the rows that its parts send one another. The leader
// begins jobs and says what is in them; the others follow. Must not know frames, sequences or what
// is computed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "model/parts/exchange.h"
#include "net/network.h"
#include "wire/messages.h"

namespace aster::stage {

// A group of one route. Belongs to the thread that computes. The network outlives it, and it
// outlives the exchanges that it makes.
class Group {
 public:
  // `nodes`: by part. `part`: this node's.
  Group(net::Network& network, wire::RouteId route, std::vector<wire::NodeId> nodes, uint32_t part,
        uint64_t max_waiting_bytes)
      : network_(network),
        route_(route),
        nodes_(std::move(nodes)),
        part_(part),
        max_waiting_bytes_(max_waiting_bytes) {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // The number of the group's own route, which its nodes know it by.
  wire::RouteId route() const { return route_; }
  bool is_leader() const { return part_ == 0; }
  bool Has(const wire::NodeId& node) const;
  // All nodes but this one.
  std::vector<wire::NodeId> Others() const;

  // Only for the leader: the number of the next job, and the work of the others in it.
  uint64_t NewJob() { return ++last_job_; }
  Status SendWork(wire::Work&& work);
  // The exchange of a job; destroying it ends the job here.
  std::unique_ptr<model::Exchange> Join(uint64_t job);
  // This node, or another one, cannot compute its part: makes the others give the job up.
  void Fail(uint64_t job, const Error& why);

  // Takes rows from another node. An error if more rows have come than the group waits for.
  Status OnRows(const wire::NodeId& from, wire::PartRows&& rows);
  // Columns and sums that this node has sent.
  struct Sent {
    uint64_t gathers = 0;  // one message to each node that takes part
    uint64_t bytes = 0;
    uint64_t ns = 0;

    Sent operator-(const Sent& before) const {
      return {gathers - before.gathers, bytes - before.bytes, ns - before.ns};
    }
    Sent& operator+=(const Sent& more) {
      gathers += more.gathers;
      bytes += more.bytes;
      ns += more.ns;
      return *this;
    }
  };
  const Sent& sent() const { return sent_; }
  // Why the group cannot continue; nothing if it can. Lack of memory does not break a group.
  const std::optional<Error>& broken() const { return broken_; }

 private:
  class JobExchange;
  // Rows of a job that were received and not taken yet.
  struct Job {
    std::map<std::pair<uint32_t, uint32_t>, wire::PartRows> rows;  // by gather and part
    std::optional<Error> failed;
    uint64_t bytes = 0;
  };

  bool TakesBlocks() const;
  Status Send(uint64_t job, uint32_t gather, model::Exchange::To to,
              const model::Exchange::Rows& rows);
  Result<model::Exchange::Rows> Take(uint64_t job, uint32_t gather, uint32_t part);
  void Leave(uint64_t job);
  bool IsOver(uint64_t job) const { return job <= over_below_ || over_.contains(job); }

  net::Network& network_;
  const wire::RouteId route_;
  const std::vector<wire::NodeId> nodes_;
  const uint32_t part_;
  const uint64_t max_waiting_bytes_;
  uint64_t last_job_ = 0;
  std::map<uint64_t, Job> jobs_;
  uint64_t waiting_bytes_ = 0;
  Sent sent_;
  // Jobs that are over here, as are all before over_below_: their late rows are dropped.
  std::set<uint64_t> over_;
  uint64_t over_below_ = 0;
  wire::Payload taken_;  // lent by Take
  std::optional<Error> broken_;
};

}  // namespace aster::stage
