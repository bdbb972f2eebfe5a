// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Resolves names of machines to their addresses, the nearest first, without blocking the caller.
// Must not know what they are used for.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "net/path_rates.h"
#include "net/socket.h"
#include "net/waker.h"

namespace aster::net {

// Not for concurrent use.
class Resolution {
 public:
  // Resolves names on a thread of its own (which may outlive this object), and wakes the waker when
  // it is done. A single numeric address is available at once.
  Resolution(std::vector<std::string> addresses, std::shared_ptr<Waker> waker,
             std::shared_ptr<const PathRates> rates = nullptr);

  // All endpoints of all addresses, the nearest first; an error if there are none; nullopt until
  // done.
  std::optional<Result<std::vector<Endpoint>>> Take();

 private:
  struct Shared {
    Mutex mu;
    std::optional<Result<std::vector<Endpoint>>> answer GUARDED_BY(mu);
  };
  std::shared_ptr<Shared> shared_;
};

}  // namespace aster::net
