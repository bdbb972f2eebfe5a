// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The interface of an engine that generates text: with a model on this machine (scheduler.h), or on
// several machines (conduct/conductor.h). Must not know how either works.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "engine/logits.h"
#include "engine/request.h"
#include "engine/sequence.h"
#include "kv/transfer.h"
#include "model/shape/shape.h"

namespace aster::engine {

// Belongs to one thread, which computes in Step. Submitted sequences outlive it or end before.
class Generator {
 public:
  virtual ~Generator() = default;

  virtual const model::Shape& shape() const = 0;

  // A sequence for requests to this generator, with an empty KV cache.
  virtual Sequence NewSequence() = 0;

  // Refuses a request that can never be answered: bad options, an empty prompt, no room for an
  // answer within the context, or more KV cache than the whole memory.
  virtual Result<RequestId> Submit(Request request) = 0;
  // Finishes it as cancelled at the beginning of the next step, unless it is already finished.
  virtual void Cancel(RequestId id) = 0;

  // Whether there is nothing to do.
  virtual bool idle() const = 0;
  // Called before a request waits or fails for lack of memory: releases a sequence that is kept for
  // later, and returns whether there was one.
  virtual void OnShortage(std::function<bool()> /*release_unused*/) {}

  // Computes all requests for a moment (tens of milliseconds, unless a batch takes longer). Fails
  // only if it is called from a callback, or if nothing can be computed any more; errors of one
  // request go to that request.
  virtual Status Step() = 0;

  // Computes a separate text, at most `chunk` tokens at a time; passes on logits after each token.
  virtual Status LogitsOf(std::span<const int32_t> tokens, size_t chunk, LogitsSink sink) = 0;

  // Exports a sequence's KV rows as consecutive KV chunks. Each has a range of layers and is passed
  // on whole or in pieces; together they have all layers from `begin` to `end` positions. The
  // sequence has no running request; at most its computed() positions. May wait for other machines.
  virtual Status ExportRows(Sequence& sequence, uint32_t begin, uint32_t end,
                            kv::KvChunkSink sink) = 0;
  // Imports one whole KV chunk, which continues the sequence's KV rows in the chunk's layers. Its
  // tokens must already be in the sequence's history, pending (SetHistory). If the chunk is damaged
  // (DataLoss), rows before the damage stay.
  virtual Status ImportRows(Sequence& sequence, Bytes chunk) = 0;
};

}  // namespace aster::engine
