// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Shows a response while it is made: the progress of its prompt, text as it comes, reasoning dim,
// tool calls on a line each. Must not know what is asked, nor how it is answered.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"
#include "cli/terminal/console.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/word_wrap.h"
#include "respond/reply.h"

namespace aster::cli {

// For one response. Console and clock outlive it.
class ReplyPrinter final : public respond::Listener {
 public:
  struct Options {
    bool is_silent = false;    // shows only the prompt's progress
    bool is_harmless = false;  // the model's text must not control the terminal
    // Separates calls and reasoning also without colours; otherwise all is shown as the model
    // writes it.
    bool shows_parts = false;
    size_t columns = 0;  // of lines, which are broken between words; 0: no breaks
  };
  ReplyPrinter(Console& console, const Clock& clock, Options options);

  void OnPrefill(uint64_t done, uint64_t total) override;
  void OnToken(const engine::Delta& delta) override;
  void OnPiece(const respond::Piece& piece) override;
  void OnEnd(const respond::End& end) override;

  // Removes the prompt's progress.
  void Clear() { progress_.reset(); }
  // The answer has ended, or was stopped: shows text that was held back.
  void Finish();
  bool has_written() const { return has_written_; }
  bool ends_line() const { return ends_line_; }
  // Whether standard output has failed.
  bool has_failed() const { return has_failed_; }

 private:
  void Write(std::string_view text, Style style = Style::kPlain);
  void Show(const chat::ReplyEvent& event);
  void ShowCall(const chat::ReplyEvent& event);
  void LeaveReasoning();
  void Emit(const std::string& text);

  Console& console_;
  const Options options_;
  WordWrap wrap_;
  Style style_ = Style::kPlain;  // of text that is held back
  std::optional<Progress> progress_;
  bool is_reasoning_ = false;
  respond::Reply call_;  // the call being received
  bool has_written_ = false;
  bool ends_line_ = false;
  bool has_failed_ = false;
};

}  // namespace aster::cli
