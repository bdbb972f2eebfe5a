// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The ways of computing a text on nodes that are killed while they do it, and on other ones than
// began it, for `aster verify`. Must not know how they are shown.
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

// Two nodes at least that have just been started, and may be killed.
using FreshNodes = std::function<Result<std::unique_ptr<open::NodeSession>>()>;

// Whether the first two of these nodes can compute the model's layers together, and own experts
// then.
struct MayBe {
  bool group = false;
  bool own = false;
};
MayBe WhatMayBe(const open::NodeSession& nodes);

// One of two nodes, which prefill together and of which one decodes, or both as a group where they
// may be one, is killed: in prefill, in KV transfer, in decode, in KV sync.
Result<std::vector<engine::VerifiedWay>> VerifyFailures(const FreshNodes& start, MayBe may,
                                                        std::span<const int32_t> tokens,
                                                        const Clock& clock,
                                                        const engine::VerifySink& sink,
                                                        Console& console);

// Half of the text is saved as a session by nodes and gone on with by this process alone, the other
// way round, and, where others can be started, by those with other layers each; and the same with
// groups.
Result<std::vector<engine::VerifiedWay>> VerifySessions(
    open::NodeSession& nodes, const FreshNodes& start, const gguf::ModelFiles& files,
    const engine::LocalModelOptions& model, std::span<const int32_t> tokens, Clock& clock,
    const engine::VerifySink& sink, Console& console);

}  // namespace aster::cli
