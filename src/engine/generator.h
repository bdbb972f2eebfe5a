// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The interface of an engine that generates text: a model on this machine (scheduler.h), or one
// that several machines hold together (conduct/conductor.h). Commands and servers need not know
// which. Must not know how either of them does it.
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

// The caller's thread does everything, in Step, and calls everything else too. Submitted sequences
// outlive it, or end before.
class Generator {
 public:
  virtual ~Generator() = default;

  virtual const model::Shape& shape() const = 0;

  // A sequence for requests to this generator, with an empty KV cache.
  virtual Sequence NewSequence() = 0;

  // Refuses a request that can never be answered: bad options, an empty prompt, one that leaves no
  // room for an answer within the context, or one that does not fit into the whole memory.
  virtual Result<RequestId> Submit(Request request) = 0;
  // It is finished as cancelled at the beginning of the next step. Nothing happens if it is
  // finished already.
  virtual void Cancel(RequestId id) = 0;

  // Whether there is nothing to do.
  virtual bool idle() const = 0;
  // Asked before a request waits or fails for want of memory: releases a sequence that is kept for
  // later, and says whether there was one.
  virtual void OnShortage(std::function<bool()> /*let_go*/) {}

  // Goes on with all requests, for a moment (tens of milliseconds, unless a batch takes longer).
  // Fails only if it is called from a callback, or if nothing at all can be done any more: what
  // goes wrong with a request is told to that one.
  virtual Status Step() = 0;

  // Computes a text of its own, at most `chunk` tokens at a time, and passes on the logits behind
  // each token.
  virtual Status LogitsOf(std::span<const int32_t> tokens, size_t chunk, LogitsSink sink) = 0;

  // Exports a sequence's KV rows: KV chunks one after another, each of some range of layers and
  // passed on whole or in pieces, that together take all layers from `begin` to `end` positions. Of
  // a sequence that no request has; at most its computed() positions. May wait for other machines.
  virtual Status ExportRows(Sequence& sequence, uint32_t begin, uint32_t end,
                            kv::KvChunkSink sink) = 0;
  // Imports one whole KV chunk, which continues the sequence's KV rows in the chunk's layers. Its
  // tokens must be those that already stand in the sequence's history, pending (SetHistory). A
  // damaged KV chunk (DataLoss) leaves what precedes the damage.
  virtual Status ImportRows(Sequence& sequence, Bytes chunk) = 0;
};

}  // namespace aster::engine
