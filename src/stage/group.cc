// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/group.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace aster::stage {
namespace {

// Jobs end nearly in the order of their numbers: at most this many end before an earlier one.
constexpr size_t kMostOutOfOrder = 64;
// Jobs with received rows; a node that keeps to the protocol has two in flight.
constexpr size_t kMostJobs = 1024;

bool IsFailure(const wire::PartRows& rows) {
  return rows.why.code() != Code::kUnknown || !rows.why.message().empty();
}

}  // namespace

class Group::JobExchange final : public model::Exchange {
 public:
  JobExchange(Group& group, uint64_t job) : group_(group), job_(job) {}
  ~JobExchange() override { group_.Leave(job_); }

  bool TakesBlocks() const override { return group_.TakesBlocks(); }
  Status Send(uint32_t gather, To to, const Rows& rows) override {
    return group_.Send(job_, gather, to, rows);
  }
  Result<Rows> Take(uint32_t gather, uint32_t part) override {
    return group_.Take(job_, gather, part);
  }

 private:
  Group& group_;
  const uint64_t job_;
};

bool Group::Has(const wire::NodeId& node) const { return std::ranges::count(nodes_, node) > 0; }

std::vector<wire::NodeId> Group::Others() const {
  std::vector<wire::NodeId> others = nodes_;
  others.erase(others.begin() + part_);
  return others;
}

Status Group::SendWork(wire::Work&& work) {
  work.route = route_;
  for (const wire::NodeId& node : Others()) TRY(network_.Send(node, work));
  return Ok();
}

std::unique_ptr<model::Exchange> Group::Join(uint64_t job) {
  return std::make_unique<JobExchange>(*this, job);
}

// One node with an older program makes all nodes send floats instead of blocks.
bool Group::TakesBlocks() const {
  return std::ranges::all_of(nodes_, [this](const wire::NodeId& node) {
    return node == network_.self() || network_.ProtocolOf(node) >= wire::kBlocksProtocol;
  });
}

Status Group::Send(uint64_t job, uint32_t gather, model::Exchange::To to,
                   const model::Exchange::Rows& rows) {
  const int64_t begin_ns = network_.clock().NowNs();
  uint64_t bytes = 0;
  for (uint32_t part = 0; part < nodes_.size(); ++part) {
    if (part == part_ || (to == model::Exchange::To::kLeader && part != 0)) continue;
    wire::PartRows message{.route = route_, .job = job, .gather = gather, .part = part_};
    message.rows.assign(rows.bytes.begin(), rows.bytes.end());
    if (rows.are_blocks) message.encoding = wire::PartEncoding::kBlocks;
    TRY(network_.Send(nodes_[part], std::move(message)));
    bytes += rows.bytes.size();
  }
  if (bytes == 0) return Ok();
  sent_ += {.gathers = 1,
            .bytes = bytes,
            .ns = static_cast<uint64_t>(network_.clock().NowNs() - begin_ns)};
  return Ok();
}

Result<model::Exchange::Rows> Group::Take(uint64_t job, uint32_t gather, uint32_t part) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return model::Exchange::Rows();
  Job& waiting = found->second;
  if (waiting.failed) return *waiting.failed;
  const auto rows = waiting.rows.find({gather, part});
  if (rows == waiting.rows.end()) return model::Exchange::Rows();
  const bool are_blocks = rows->second.encoding == wire::PartEncoding::kBlocks;
  taken_ = std::move(rows->second.rows);
  waiting.rows.erase(rows);
  waiting.bytes -= taken_.size();
  waiting_bytes_ -= taken_.size();
  // Memory of payloads is aligned for any type.
  return model::Exchange::Rows{.bytes = taken_, .are_blocks = are_blocks};
}

void Group::Leave(uint64_t job) {
  if (const auto found = jobs_.find(job); found != jobs_.end()) {
    waiting_bytes_ -= found->second.bytes;
    jobs_.erase(found);
  }
  over_.insert(job);
  if (over_.size() <= kMostOutOfOrder) return;
  over_below_ = *over_.begin();
  over_.erase(over_.begin());
  // Rows of jobs that failed before this node joined them.
  while (!jobs_.empty() && jobs_.begin()->first <= over_below_) {
    waiting_bytes_ -= jobs_.begin()->second.bytes;
    jobs_.erase(jobs_.begin());
  }
}

void Group::Fail(uint64_t job, const Error& why) {
  if (why.code() != Code::kResourceExhausted && !broken_) broken_ = why;
  // The leader tells all others; a member tells the leader. A failed send needs no
  // handling: that node is reported down.
  for (uint32_t part = 0; part < nodes_.size(); ++part) {
    if (part == part_ || (!is_leader() && part != 0)) continue;
    static_cast<void>(network_.Send(
        nodes_[part],
        wire::PartRows{.route = route_, .job = job, .gather = 0, .part = part_, .why = why}));
  }
}

Status Group::OnRows(const wire::NodeId& from, wire::PartRows&& rows) {
  if (rows.part >= nodes_.size() || nodes_[rows.part] != from || IsOver(rows.job)) return Ok();
  if (jobs_.size() >= kMostJobs && !jobs_.contains(rows.job)) {
    return ResourceExhausted(
        fmt::format("node {} sent messages of too many jobs of its group", from.ToText()));
  }
  Job& job = jobs_[rows.job];
  if (IsFailure(rows)) {
    job.failed = Error(rows.why).In(fmt::format("node {}", from.ToText()));
    return Ok();
  }
  const uint64_t bytes = rows.rows.size();
  if (bytes == 0 || bytes % sizeof(float) != 0 || bytes > max_waiting_bytes_ - waiting_bytes_) {
    return ResourceExhausted(fmt::format("node {} has sent {} that its group does not wait for",
                                         from.ToText(), FormatBytes(bytes)));
  }
  const std::pair place{rows.gather, rows.part};
  const bool is_new = job.rows.try_emplace(place, std::move(rows)).second;
  if (!is_new) return Ok();
  job.bytes += bytes;
  waiting_bytes_ += bytes;
  return Ok();
}

}  // namespace aster::stage
