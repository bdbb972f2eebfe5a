// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Nodes on this machine for as long as a command runs: processes of this program that no other
// program can talk to, as only they get the password. Must not know what they compute.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/child_process.h"
#include "base/result.h"
#include "net/credentials.h"
#include "net/delaying_proxy.h"
#include "plan/plan.h"

namespace aster::open {

struct LocalNodesOptions {
  size_t count = 0;
  std::vector<std::string> node_arguments;  // after `aster node`: models, number of threads …
  bool pinned = false;                      // each to a core of its own
  // Simulated between all of them, as if they were machines on a network; nullopt: plain loopback.
  std::optional<net::LinkOptions> link = {};
};

// Parses "1ms,1Gbit": the delay one way, and the rate of either direction.
Result<net::LinkOptions> ParseLink(std::string_view text);

// A started program learns who it is from one line on its standard input, and reports its address
// with one line on its standard output.
struct LocalInvitation {
  std::string name;
  wire::NodeId node;
  std::vector<uint8_t> password;

  std::string ToLine() const;
  static Result<LocalInvitation> Parse(std::string_view line);
  net::Credentials ForNetwork() const;
};
std::string LocalReply(const std::string& address);
Result<std::string> ParseLocalReply(std::string_view line);

// The processes end with this object, and also if this process dies.
class LocalNodes {
 public:
  static Result<LocalNodes> Start(const LocalNodesOptions& options);

  const std::vector<plan::PlanNode>& nodes() const { return nodes_; }
  // Kills it at once, as if its machine was switched off.
  Status Kill(const wire::NodeId& node);
  // The --kv-cache counters of the nodes, a line each; none of nodes that do not answer.
  std::vector<std::string> KvCacheLines();
  // The credentials with which this process connects to them.
  const net::Credentials& credentials() const { return credentials_; }

 private:
  std::vector<ChildProcess> processes_;
  std::vector<std::unique_ptr<net::DelayingProxy>> links_;  // to each node, if a link is simulated
  std::vector<plan::PlanNode> nodes_;
  net::Credentials credentials_;
};

}  // namespace aster::open
