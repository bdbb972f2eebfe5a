// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The stages of this process, as the conductor in it sees them: both share one network and one
// thread, so the conductor drives them between its own steps. Must not know what they are made of.
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

  // Does what is due by the clock: takes slices that have loaded, reports to conductors how far
  // loading is, frees slices that no route has used for a while.
  virtual void Tick() = 0;
  // When it has to be called next, of the network's clock; kNeverNs if events are enough.
  virtual int64_t next_tick_ns() const = 0;
};

// Whether a message is for the stages of a node, and not for its conductor.
bool IsForStages(const wire::Message& message);

}  // namespace aster::stage
