// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/run.h"

#include <utility>

namespace aster::respond {
namespace {

// Collects the reply, and passes it to another listener.
class Collector final : public Listener {
 public:
  explicit Collector(Listener& other) : other_(other) {}

  void OnPrefill(uint64_t done, uint64_t total) override { other_.OnPrefill(done, total); }
  void OnToken(const engine::Delta& delta) override { other_.OnToken(delta); }
  void OnPiece(const Piece& piece) override {
    reply.Add(piece.events, piece.tokens);
    other_.OnPiece(piece);
  }
  void OnEnd(const End& end) override {
    reply.Add(end.last.events, end.last.tokens);
    status = end.status;
    other_.OnEnd(end);
  }

  Reply reply;
  Status status;

 private:
  Listener& other_;
};

}  // namespace

Result<Answered> Run(engine::Generator& generator, engine::Sequence& sequence, const Model& model,
                     const Settings& settings, const Prompt& prompt, Listener& listener,
                     const std::function<bool()>& is_cancelled) {
  Collector collector(listener);
  Response response(model, settings, prompt, TRY(MakeMasks(model, prompt)), collector);
  sequence.SetHistory(prompt.tokens);
  engine::Request request = response.MakeRequest();
  request.sequence = &sequence;
  auto generated = engine::Generate(generator, std::move(request), [&] {
    return response.is_complete() || (is_cancelled && is_cancelled());
  });
  // The collector's error is more precise than the engine's.
  TRY(std::move(collector.status));
  return Answered{.generated = TRY(std::move(generated)), .reply = std::move(collector.reply)};
}

}  // namespace aster::respond
