// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/run/reply_printer.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "chat/dialect.h"
#include "cli/run/run_report.h"

namespace aster::cli {
namespace {

using Kind = chat::ReplyEvent::Kind;

// The markup of most models, whatever this one uses.
constexpr std::string_view kThinkOpen = "<think>";
constexpr std::string_view kThinkClose = "</think>";

}  // namespace

ReplyPrinter::ReplyPrinter(Console& console, const Clock& clock, Options options)
    : console_(console), options_(options), wrap_(options.columns) {
  progress_.emplace(console, clock, "prefill", Progress::Unit::kTokens);
}

void ReplyPrinter::OnPrefill(uint64_t done, uint64_t total) {
  if (progress_) progress_->Update(done, total);
}

void ReplyPrinter::OnToken(const engine::Delta& /*delta*/) { Clear(); }

void ReplyPrinter::OnPiece(const respond::Piece& piece) {
  if (piece.text.empty() && piece.events.empty()) return;
  Clear();
  if (options_.is_silent) return;
  if (console_.shows_color() || options_.shows_parts) {
    for (const chat::ReplyEvent& event : piece.events) Show(event);
  } else {
    Write(piece.text);
  }
  has_failed_ = !console_.Flush().ok();
}

void ReplyPrinter::OnEnd(const respond::End& end) {
  Clear();
  OnPiece(end.last);
  if (is_reasoning_) LeaveReasoning();
  Finish();
}

void ReplyPrinter::Finish() {
  Clear();
  Emit(wrap_.Flush());
}

void ReplyPrinter::Write(std::string_view text, Style style) {
  if (style != style_) Emit(wrap_.Flush());
  style_ = style;
  Emit(wrap_.Add(options_.is_harmless ? Harmless(text) : std::string(text)));
}

void ReplyPrinter::Emit(const std::string& text) {
  if (text.empty()) return;
  console_.Write(console_.Styled(style_, text));
  has_written_ = true;
  ends_line_ = text.ends_with('\n');
}

void ReplyPrinter::Show(const chat::ReplyEvent& event) {
  if (event.kind == Kind::kReasoning) {
    // Without colours, reasoning is shown in models' markup.
    if (!std::exchange(is_reasoning_, true) && !console_.shows_color())
      Write(std::string(kThinkOpen) + "\n");
    return Write(event.text, Style::kDim);
  }
  if (is_reasoning_) LeaveReasoning();
  if (event.kind == Kind::kContent) return Write(event.text);
  ShowCall(event);
}

void ReplyPrinter::LeaveReasoning() {
  is_reasoning_ = false;
  Write(console_.shows_color() ? "\n\n" : "\n" + std::string(kThinkClose) + "\n\n");
}

// On a terminal while it is made, elsewhere as a line of JSON for programs.
void ReplyPrinter::ShowCall(const chat::ReplyEvent& event) {
  const bool is_terminal = console_.out_is_terminal();
  if (event.kind == Kind::kCallBegin) {
    Emit(wrap_.Flush());
    if (has_written_ && !ends_line_) Write("\n");
    call_ = {};
    if (is_terminal) Write(event.text, Style::kAccent);
    if (is_terminal) Write(" ");
  }
  call_.Add({&event, 1});
  if (event.kind == Kind::kArguments && is_terminal) Write(event.text);
  if (event.kind != Kind::kCallEnd) return;
  Write(is_terminal ? "\n" : DumpLine(CallToJson(call_.calls.back())));
}

}  // namespace aster::cli
