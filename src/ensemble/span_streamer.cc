// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/span_streamer.h"

#include <utility>

namespace aster::ensemble {

SpanStreamer::SpanStreamer(const respond::Model& model, respond::Settings settings,
                           respond::Prompt prompt, ensemble::OnPiece on_piece)
    : on_piece_(std::move(on_piece)),
      prompt_(std::move(prompt)),
      stops_(settings.stops),
      response_(model, SettingsWithoutLogprobs(std::move(settings)), prompt_, /*masks=*/nullptr,
                *this),
      request_(response_.MakeRequest()) {}

// Without log-probabilities, as tokens are of several vocabularies.
respond::Settings SpanStreamer::SettingsWithoutLogprobs(respond::Settings settings) {
  settings.sampling.logprobs = false;
  return settings;
}

void SpanStreamer::Append(const std::string& text) {
  std::string shown;
  stops_.Push(text, shown);
  if (!shown.empty()) request_.on_token({.id = 0, .choice = {}, .text = shown});
}

void SpanStreamer::Finish(engine::Finish finish, Answer& answer) {
  if (!stops_.found()) stops_.Finish(finish.text);
  response_.Begin();
  request_.on_finish(finish);
  answer.answered.generated.text = std::move(text_);
  answer.answered.generated.finish = std::move(finish);
  answer.answered.reply = std::move(reply_);
  answer.pieces = std::move(pieces_);
  answer.sent_pieces = sent_;
  answer.reason = reason_;
}

void SpanStreamer::Add(const respond::Piece& piece) {
  pieces_.push_back(
      {.text = std::string(piece.text), .events = {piece.events.begin(), piece.events.end()}});
  text_ += piece.text;
  reply_.Add(piece.events);
}

void SpanStreamer::OnPiece(const respond::Piece& piece) {
  Add(piece);
  if (!on_piece_) return;
  sent_ = pieces_.size();
  on_piece_(pieces_.back());
}

void SpanStreamer::OnEnd(const respond::End& end) {
  Add(end.last);
  reason_ = end.reason;
}

}  // namespace aster::ensemble
