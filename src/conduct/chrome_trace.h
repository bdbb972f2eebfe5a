// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A trace as viewers of Chrome's trace format show it (chrome://tracing, ui.perfetto.dev): a
// process for each node with what its stages compute, what waits for them, what they send, and when
// they had nothing to do; and one for the conductor with its routes, requests and frames. Must not
// know files.
#pragma once

#include <string>

#include "conduct/trace.h"

namespace aster::conduct {

// One JSON array of events. Times are in microseconds since the first route was opened, with all
// their nanoseconds.
std::string ToChromeTrace(const Trace& trace);

}  // namespace aster::conduct
