// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Changes of the server's cluster through its API. Must not know HTTP, nor how they are carried
// out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace aster::serve {

// Safe for concurrent use; nothing blocks. Each Done is called once, on any thread, with the JSON
// of the change, or an error. Nodes are named as in `aster cluster status`, or by id.
class ClusterChanges {
 public:
  using Done = std::function<void(Result<std::string>)>;

  virtual ~ClusterChanges() = default;
  // Makes a code that admits one machine.
  virtual void Invite(int64_t minutes, Done done) = 0;
  // Revokes a node.
  virtual void Revoke(std::string node, Done done) = 0;
  // The server gives a node no layers from now on, or may give it some again.
  virtual void Drain(std::string node, bool is_drained, Done done) = 0;
  // The ids of the drained nodes.
  virtual std::vector<std::string> Drained() const = 0;
};

}  // namespace aster::serve
