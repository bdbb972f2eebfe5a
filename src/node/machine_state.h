// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The machine's state apart from the node's: load of all programs, and battery. Must not know who
// is told.
#pragma once

#include <optional>
#include <string>

#include "cluster/description.h"

namespace aster::node {

struct MachineState {
  double load = 0;                          // runnable threads, mean of the last minute; 0: unknown
  std::optional<cluster::Battery> battery;  // all batteries together; nullopt: none
};

// Takes microseconds. Tests use another folder than "/".
MachineState LookAtMachine(const std::string& root = "/");

}  // namespace aster::node
