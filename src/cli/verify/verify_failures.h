// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Ways of computing a text on nodes that are killed meanwhile, and on other nodes than those that
// began, for `aster verify`. Must not know how they are shown.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cli/terminal/console.h"
#include "engine/local_model.h"
#include "engine/verify.h"
#include "gguf/model_files.h"
#include "open/node_session.h"

namespace aster::cli {

// Starts at least two new nodes, which may be killed.
using FreshNodes = std::function<Result<std::unique_ptr<open::NodeSession>>()>;

// Whether the first two of these nodes can compute the model's layers together, and then own
// experts.
struct GroupSupport {
  bool group = false;
  bool own = false;
};
GroupSupport GroupSupportOf(const open::NodeSession& nodes);

// Two nodes prefill together, and one of them decodes, or both as a group if possible. One is
// killed: in prefill, in KV transfer, in decode, in KV sync.
Result<std::vector<engine::VerifiedWay>> VerifyFailures(
    const FreshNodes& start, GroupSupport supported, std::span<const int32_t> tokens,
    const Clock& clock, const engine::VerifySink& sink, Console& console);

// Nodes save half of the text as a session and this process alone continues it, the other way
// round, and, if nodes can be started, others with other layers do; and the same with groups.
Result<std::vector<engine::VerifiedWay>> VerifySessions(
    open::NodeSession& nodes, const FreshNodes& start, const gguf::ModelFiles& files,
    const engine::LocalModelOptions& model, std::span<const int32_t> tokens, Clock& clock,
    const engine::VerifySink& sink, Console& console);

}  // namespace aster::cli
