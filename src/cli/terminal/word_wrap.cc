// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/terminal/word_wrap.h"

#include "base/utf8.h"
#include "cli/terminal/columns.h"

namespace aster::cli {
namespace {

constexpr std::string_view kFence = "```";

}  // namespace

std::string WordWrap::Add(std::string_view text) {
  if (columns_ == 0) return std::string(text);
  std::string shown;
  while (!text.empty()) {
    const size_t size = DecodeUtf8(text).size;
    AddCharacter(text.substr(0, size), shown);
    text.remove_prefix(size);
  }
  return shown;
}

std::string WordWrap::Flush() {
  std::string shown;
  EndWord(shown);
  shown += blanks_;
  column_ += blanks_.size();
  blanks_.clear();
  return shown;
}

void WordWrap::AddCharacter(std::string_view character, std::string& shown) {
  if (character == "\n") return EndLine(shown);
  if (character == " ") {
    EndWord(shown);
    blanks_ += ' ';
    return;
  }
  word_ += character;
  // A word that fills a line, and scripts without blanks, are not held back: the terminal breaks
  // them.
  if (ColumnsOf(character) > 1 || ColumnsOf(word_) >= columns_) EndWord(shown);
}

void WordWrap::EndWord(std::string& shown) {
  if (word_.empty()) return;
  if (is_line_start_ && word_.starts_with(kFence)) is_code_ = !is_code_;
  const size_t width = ColumnsOf(word_);
  const bool breaks =
      !is_code_ && column_ > 0 && !blanks_.empty() && column_ + blanks_.size() + width > columns_;
  if (breaks) {
    shown += '\n';
    column_ = 0;
  } else {
    shown += blanks_;
    column_ += blanks_.size();
  }
  shown += word_;
  column_ += width;
  if (column_ > columns_) column_ = (column_ - 1) % columns_ + 1;  // on a later line
  blanks_.clear();
  word_.clear();
  is_line_start_ = false;
}

void WordWrap::EndLine(std::string& shown) {
  EndWord(shown);
  shown += blanks_ + "\n";
  blanks_.clear();
  column_ = 0;
  is_line_start_ = true;
}

}  // namespace aster::cli
