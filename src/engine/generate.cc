// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/generate.h"

#include <utility>

#include "engine/scheduler.h"

namespace aster::engine {

Result<Generated> Generate(Generator& generator, Request request,
                           const std::function<bool()>& is_cancelled) {
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
  const RequestId id = TRY(generator.Submit(std::move(request)));
  while (!generator.idle()) {
    if (is_cancelled && is_cancelled()) generator.Cancel(id);
    TRY(generator.Step());
  }
  TRY(std::move(generated.finish.status));
  return generated;
}

Result<Generated> Generate(LocalModel& model, const text::Tokenizer* tokenizer, const Clock& clock,
                           Request request, const std::function<bool()>& is_cancelled,
                           uint32_t batch_tokens) {
  Scheduler scheduler(model, tokenizer, clock, {.batch_tokens = batch_tokens, .max_running = 1});
  return Generate(scheduler, std::move(request), is_cancelled);
}

}  // namespace aster::engine
