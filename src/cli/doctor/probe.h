// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Tests for facts that are not in the kernel's files: instructions, usable memory, GPUs, a round
// trip over loopback, the pages of a model in memory. Must not know what is good or bad.
#pragma once

#include <span>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cli/doctor/facts.h"

namespace aster::cli {

// Probes this machine, and the files of a model (empty: none).
Result<Probes> ProbeMachine(std::span<const std::string> model_paths, const Clock& clock);

// The median of some round trips of a byte over TCP on 127.0.0.1, to a thread that sleeps between
// them; nullopt if there is no such connection.
std::optional<int64_t> MeasureLoopback(const Clock& clock);

// A file's size, its disk, and how much of it is in the page cache.
Result<ModelFact> ProbeModel(const std::string& path);

}  // namespace aster::cli
