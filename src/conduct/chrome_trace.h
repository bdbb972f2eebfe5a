// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A trace in Chrome's trace format (chrome://tracing, ui.perfetto.dev): a process for each node
// with its stages' computations, queues, transfers and bubbles, and one for the conductor with its
// routes, requests and frames. Must not know files.
#pragma once

#include <string>

#include "conduct/trace.h"

namespace aster::conduct {

// One JSON array of events. Times are in microseconds since the first route was opened, with all
// their nanoseconds.
std::string ToChromeTrace(const Trace& trace);

}  // namespace aster::conduct
