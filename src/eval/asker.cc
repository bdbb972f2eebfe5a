// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/asker.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/check.h"

namespace aster::eval {
namespace {

// A place for one prompt at a time.
struct Slot {
  explicit Slot(engine::Sequence of) : sequence(std::move(of)) {}

  engine::Sequence sequence;
  size_t index = 0;  // of its prompt
  engine::RequestId id = 0;
  Reply reply;
  Status status;
  bool busy = false;
  bool finished = false;  // and not told yet
};

class Asker {
 public:
  Asker(engine::Answering& answering, std::span<const std::vector<int32_t>> prompts,
        const AskOptions& options)
      : answering_(answering), prompts_(prompts), options_(options) {
    const size_t count = std::min<size_t>(options.parallel, prompts.size());
    for (size_t i = 0; i < count; ++i) {
      slots_.push_back(std::make_unique<Slot>(answering.NewSequence()));
    }
  }

  // The requests that are not finished end with it, or their sequences would be gone too early.
  ~Asker() { static_cast<void>(Cancel()); }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  Status Run() {
    for (;;) {
      if (options_.is_cancelled && options_.is_cancelled()) return Cancel();
      for (const auto& slot : slots_) {
        if (!slot->busy && next_ < prompts_.size()) TRY(Submit(*slot));
      }
      if (answering_.idle()) return Ok();
      TRY(answering_.Step());
      for (const auto& slot : slots_) {
        if (slot->finished) TRY(Tell(*slot));
      }
      if (options_.on_step) options_.on_step();
    }
  }

 private:
  Status Submit(Slot& slot) {
    slot.index = next_++;
    slot.reply = {};
    // What this prompt shares with the one before stays in memory.
    slot.sequence.SetHistory(prompts_[slot.index]);
    engine::Request request = options_.request;
    request.sequence = &slot.sequence;
    request.on_token = [&slot](const engine::Delta& delta) { slot.reply.text += delta.text; };
    request.on_finish = [&slot](const engine::Finish& finish) {
      slot.reply.text += finish.text;
      slot.reply.reason = finish.reason;
      slot.reply.counts = finish.counts;
      slot.reply.times = finish.times;
      slot.status = finish.status;
      slot.finished = true;
    };
    slot.id = TRY(answering_.Submit(std::move(request)).In(fmt::format("prompt {}", slot.index)));
    slot.busy = true;
    return Ok();
  }

  Status Tell(Slot& slot) {
    slot.finished = slot.busy = false;
    TRY(std::move(slot.status).In(fmt::format("prompt {}", slot.index)));
    return options_.on_reply(slot.index, slot.reply);
  }

  Status Cancel() {
    for (const auto& slot : slots_) {
      if (slot->busy) answering_.Cancel(slot->id);
    }
    while (!answering_.idle()) TRY(answering_.Step());
    return Ok();
  }

  engine::Answering& answering_;
  const std::span<const std::vector<int32_t>> prompts_;
  const AskOptions& options_;
  std::vector<std::unique_ptr<Slot>> slots_;
  size_t next_ = 0;
};

}  // namespace

Status AskAll(engine::Answering& answering, std::span<const std::vector<int32_t>> prompts,
              const AskOptions& options) {
  CHECK(options.parallel > 0 && options.on_reply);
  return Asker(answering, prompts, options).Run();
}

}  // namespace aster::eval
