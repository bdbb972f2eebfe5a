// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The stages of this process, as its conductor sees them: both share one network and one thread, so
// the conductor drives them between its own steps. Must not know how stages are implemented.
#pragma once

#include <cstdint>

#include "net/network.h"
#include "wire/messages.h"

namespace aster::stage {

// Belongs to one thread.
class LocalStages {
 public:
  virtual ~LocalStages() = default;

  // Takes an event that is for stages; ignores any other.
  virtual void Handle(net::Event event) = 0;

  // Whether Compute has something to do.
  virtual bool has_work() const = 0;
  // Computes one frame and sends its result on. If a device computes it, this may be a part of a
  // frame only, so that the caller can handle events between two parts.
  virtual void Compute() = 0;

  // Does the periodic work: takes slices that have loaded, reports loading progress to conductors,
  // frees slices that no route has used for a while.
  virtual void Tick() = 0;
  // When Tick has to be called next, by the network's clock; kNeverNs if events are enough.
  virtual int64_t next_tick_ns() const = 0;
};

// Whether a message is for the stages of a node, and not for its conductor.
bool IsForStages(const wire::Message& message);

}  // namespace aster::stage
