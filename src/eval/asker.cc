// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/asker.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/check.h"
#include "engine/scheduler.h"

namespace aster::eval {
namespace {

// A place for one prompt at a time.
struct Slot {
  explicit Slot(engine::LocalModel& model) : sequence(model) {}

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
  Asker(engine::LocalModel& model, const text::Tokenizer& tokenizer, const Clock& clock,
        std::span<const std::vector<int32_t>> prompts, const AskOptions& options)
      : prompts_(prompts),
        options_(options),
        scheduler_(model, &tokenizer, clock, {.max_running = options.parallel}) {
    const size_t count = std::min<size_t>(options.parallel, prompts.size());
    for (size_t i = 0; i < count; ++i) slots_.push_back(std::make_unique<Slot>(model));
  }

  Status Run() {
    for (;;) {
      if (options_.is_cancelled && options_.is_cancelled()) return Cancel();
      for (const auto& slot : slots_) {
        if (!slot->busy && next_ < prompts_.size()) TRY(Submit(*slot));
      }
      if (scheduler_.idle()) return Ok();
      TRY(scheduler_.Step());
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
    slot.id = TRY(scheduler_.Submit(std::move(request)).In(fmt::format("prompt {}", slot.index)));
    slot.busy = true;
    return Ok();
  }

  Status Tell(Slot& slot) {
    slot.finished = slot.busy = false;
    TRY(std::move(slot.status).In(fmt::format("prompt {}", slot.index)));
    return options_.on_reply(slot.index, slot.reply);
  }

  // The scheduler lets go of the sequences.
  Status Cancel() {
    for (const auto& slot : slots_) {
      if (slot->busy) scheduler_.Cancel(slot->id);
    }
    while (!scheduler_.idle()) TRY(scheduler_.Step());
    return Ok();
  }

  const std::span<const std::vector<int32_t>> prompts_;
  const AskOptions& options_;
  std::vector<std::unique_ptr<Slot>> slots_;
  engine::Scheduler scheduler_;  // destroyed before the sequences that it borrows
  size_t next_ = 0;
};

}  // namespace

Status AskAll(engine::LocalModel& model, const text::Tokenizer& tokenizer, const Clock& clock,
              std::span<const std::vector<int32_t>> prompts, const AskOptions& options) {
  CHECK(options.parallel > 0 && options.on_reply);
  return Asker(model, tokenizer, clock, prompts, options).Run();
}

}  // namespace aster::eval
