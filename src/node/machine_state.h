// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What the machine is doing beside what the node knows: all programs' load, and its battery. Must
// not know who is told.
#pragma once

#include <optional>
#include <string>

#include "cluster/description.h"

namespace aster::node {

struct MachineState {
  double load =
      0;  // threads that wanted to compute, a mean of the last minute; 0 if not known, too
  std::optional<cluster::Battery> battery;  // of all of them; nothing: there is none
};

// Takes some microseconds. Another folder than "/" is for tests.
MachineState LookAtMachine(const std::string& root = "/");

}  // namespace aster::node
