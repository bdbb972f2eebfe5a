// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Sends the agreed text of an answer like one model's response, and finds the stop string that ends
// it. Must not know who wrote what.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/stops.h"
#include "ensemble/answer.h"
#include "ensemble/question_run.h"
#include "respond/response.h"

namespace aster::ensemble {

class SpanStreamer final : public respond::Listener {
 public:
  // Like the model's own response to this prompt; the model outlives this.
  SpanStreamer(const respond::Model& model, respond::Settings settings, respond::Prompt prompt,
               ensemble::OnPiece on_piece);

  void Append(const std::string& text);
  // The stop string that ended the answer.
  const std::optional<std::string>& stop() const { return stops_.found(); }
  // Fills in the result of all pieces.
  void Finish(engine::Finish finish, Answer& answer);

 private:
  void OnPiece(const respond::Piece& piece) override;
  void OnEnd(const respond::End& end) override;
  void Add(const respond::Piece& piece);

  static respond::Settings SettingsWithoutLogprobs(respond::Settings settings);

  const ensemble::OnPiece on_piece_;
  const respond::Prompt prompt_;
  engine::StopStrings stops_;
  respond::Response response_;
  const engine::Request request_;
  std::string text_;
  respond::Reply reply_;
  std::vector<AnswerPiece> pieces_;
  size_t sent_ = 0;
  respond::EndReason reason_ = respond::EndReason::kStop;
};

}  // namespace aster::ensemble
