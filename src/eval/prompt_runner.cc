// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/prompt_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "respond/response.h"

namespace aster::eval {
namespace {

// Answers one prompt at a time.
class Slot final : public respond::Listener {
 public:
  explicit Slot(engine::Sequence sequence) : sequence_(std::move(sequence)) {}

  Status Submit(engine::Generator& generator, const PromptRunOptions& options,
                const respond::Prompt& prompt, size_t index) {
    index_ = index;
    reply_ = {};
    // The common beginning with the prompt before stays in the KV cache.
    sequence_.SetHistory(prompt.tokens);
    response_ =
        std::make_unique<respond::Response>(options.model, options.settings, prompt,
                                            TRY(respond::MakeMasks(options.model, prompt)), *this);
    engine::Request request = response_->MakeRequest();
    request.sequence = &sequence_;
    id_ = TRY(generator.Submit(std::move(request)).In(fmt::format("prompt {}", index)));
    busy_ = true;
    return Ok();
  }
  void Cancel(engine::Generator& generator) const {
    if (busy_) generator.Cancel(id_);
  }
  // Reports the reply once it has ended.
  Status ReportReply(const PromptRunOptions& options) {
    if (!finished_) return Ok();
    finished_ = busy_ = false;
    TRY(std::move(status_).In(fmt::format("prompt {}", index_)));
    return options.on_reply(index_, reply_);
  }
  bool busy() const { return busy_; }

 private:
  void OnPiece(const respond::Piece& piece) override { reply_.text += piece.text; }
  void OnEnd(const respond::End& end) override {
    OnPiece(end.last);
    reply_.reason = end.finish.reason;
    reply_.counts = end.finish.counts;
    reply_.times = end.finish.times;
    status_ = end.status;
    finished_ = true;
  }

  engine::Sequence sequence_;
  std::unique_ptr<respond::Response> response_;
  size_t index_ = 0;  // of its prompt
  engine::RequestId id_ = 0;
  Reply reply_;
  Status status_;
  bool busy_ = false;
  bool finished_ = false;  // and not reported yet
};

class PromptRunner {
 public:
  PromptRunner(engine::Generator& generator, std::span<const respond::Prompt> prompts,
               const PromptRunOptions& options)
      : generator_(generator), prompts_(prompts), options_(options) {
    const size_t count = std::min<size_t>(options.parallel, prompts.size());
    for (size_t i = 0; i < count; ++i) {
      slots_.push_back(std::make_unique<Slot>(generator.NewSequence()));
    }
  }

  // Cancels unfinished requests before their sequences are destroyed.
  ~PromptRunner() { static_cast<void>(Cancel()); }
  PromptRunner(const PromptRunner&) = delete;
  PromptRunner& operator=(const PromptRunner&) = delete;

  Status Run() {
    for (;;) {
      if (options_.is_cancelled && options_.is_cancelled()) return Cancel();
      for (const auto& slot : slots_) {
        if (slot->busy() || next_ >= prompts_.size()) continue;
        const size_t index = next_++;
        TRY(slot->Submit(generator_, options_, prompts_[index], index));
      }
      if (generator_.idle()) return Ok();
      TRY(generator_.Step());
      for (const auto& slot : slots_) TRY(slot->ReportReply(options_));
      if (options_.on_step) options_.on_step();
    }
  }

 private:
  Status Cancel() {
    for (const auto& slot : slots_) slot->Cancel(generator_);
    while (!generator_.idle()) TRY(generator_.Step());
    return Ok();
  }

  engine::Generator& generator_;
  const std::span<const respond::Prompt> prompts_;
  const PromptRunOptions& options_;
  std::vector<std::unique_ptr<Slot>> slots_;
  size_t next_ = 0;
};

}  // namespace

Status RunPrompts(engine::Generator& generator, std::span<const respond::Prompt> prompts,
                  const PromptRunOptions& options) {
  CHECK(options.parallel > 0 && options.on_reply);
  return PromptRunner(generator, prompts, options).Run();
}

}  // namespace aster::eval
