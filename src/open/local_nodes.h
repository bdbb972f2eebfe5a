// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Nodes on this machine for as long as a command runs: processes of this program that no other
// program can talk to, since only they have the password that they are given. Must not know what
// they are asked to compute.
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
  std::vector<std::string> node_arguments;  // behind `aster node`: which models, how many threads
  bool pinned = false;                      // each to a core of its own
  // Between all of them, as if they were machines on a network; nothing: loopback itself.
  std::optional<net::LinkOptions> link = {};
};

// "1ms,1Gbit": how long a byte takes one way, and how many the link takes, either way.
Result<net::LinkOptions> ParseLink(std::string_view text);

// How the program that is started learns who it is, and says where it is. One line each, on its
// standard input and output.
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

// They end with this object, whatever happens to this process.
class LocalNodes {
 public:
  static Result<LocalNodes> Start(const LocalNodesOptions& options);

  const std::vector<plan::PlanNode>& nodes() const { return nodes_; }
  // It ends at once, without a word, as if its machine was switched off.
  Status Kill(const wire::NodeId& node);
  // What each of them says of its --kv-cache, a line each; nothing of those that say nothing.
  std::vector<std::string> KvCacheLines();
  // With which this process talks to them.
  const net::Credentials& credentials() const { return credentials_; }

 private:
  std::vector<ChildProcess> processes_;
  std::vector<std::unique_ptr<net::DelayingProxy>> links_;  // to each node, where one is wanted
  std::vector<plan::PlanNode> nodes_;
  net::Credentials credentials_;
};

}  // namespace aster::open
