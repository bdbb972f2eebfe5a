// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Changes of the server's cluster that its API takes. Must not know HTTP, nor how they are made.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace aster::serve {

// Safe for concurrent use; nothing waits. Each Done is called once, on any thread, with the JSON of
// what was changed, or why nothing was. Nodes are named as `aster cluster status` does, or by id.
class ClusterChanges {
 public:
  using Done = std::function<void(Result<std::string>)>;

  virtual ~ClusterChanges() = default;
  // A code that admits one machine.
  virtual void Invite(int64_t minutes, Done done) = 0;
  // A node is trusted no longer.
  virtual void Revoke(std::string node, Done done) = 0;
  // A node is given no layers by this server from now on, or may be given some again.
  virtual void Drain(std::string node, bool is_drained, Done done) = 0;
  // Ids of the drained nodes.
  virtual std::vector<std::string> Drained() const = 0;
};

}  // namespace aster::serve
