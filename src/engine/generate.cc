// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/generate.h"

#include <utility>

#include "engine/scheduler.h"

namespace aster::engine {

Result<Generated> Generate(LocalModel& model, const text::Tokenizer* tokenizer, const Clock& clock,
                           Request request, const std::function<bool()>& is_cancelled,
                           uint32_t batch_tokens) {
  Generated generated;
  request.on_token = [&generated, on_token = std::move(request.on_token)](const Delta& delta) {
    generated.tokens.push_back(delta.choice.id);
    generated.text += delta.text;
    if (on_token) on_token(delta);
  };
  request.on_finish = [&generated, on_finish = std::move(request.on_finish)](const Finish& finish) {
    generated.text += finish.text;
    generated.finish = finish;
    if (on_finish) on_finish(finish);
  };
  Scheduler scheduler(model, tokenizer, clock, {.batch_tokens = batch_tokens, .max_running = 1});
  const RequestId id = TRY(scheduler.Submit(std::move(request)));
  while (!scheduler.idle()) {
    if (is_cancelled && is_cancelled()) scheduler.Cancel(id);
    TRY(scheduler.Step());
  }
  TRY(std::move(generated.finish.status));
  return generated;
}

}  // namespace aster::engine
