// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// From names of machines to their addresses, the nearest first, without making a caller wait. Must
// not know what is wanted there.
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
  // Names are asked for in a thread of their own (which stays behind if this object goes earlier);
  // the waker is woken when that is done. A single number is there at once.
  Resolution(std::vector<std::string> addresses, std::shared_ptr<Waker> waker,
             std::shared_ptr<const PathRates> rates = nullptr);

  // All endpoints of all addresses, the nearest first; an error if there is none; nothing yet.
  std::optional<Result<std::vector<Endpoint>>> Take();

 private:
  struct Shared {
    Mutex mu;
    std::optional<Result<std::vector<Endpoint>>> answer GUARDED_BY(mu);
  };
  std::shared_ptr<Shared> shared_;
};

}  // namespace aster::net
