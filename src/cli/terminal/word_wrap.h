// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Breaks streamed text between words, before the terminal breaks it within one. Lines of fenced
// code stay unchanged. Must not know terminals, nor colours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aster::cli {

class WordWrap {
 public:
  // A line has at most `columns`; 0: no limit.
  explicit WordWrap(size_t columns) : columns_(columns) {}

  // The text that can be shown so far: all but its last word, which may continue.
  std::string Add(std::string_view text);
  // The last word: nothing follows, or in another style.
  std::string Flush();

 private:
  void AddCharacter(std::string_view character, std::string& shown);
  void EndWord(std::string& shown);
  void EndLine(std::string& shown);

  const size_t columns_;
  size_t column_ = 0;   // after the shown text
  std::string blanks_;  // before the word, not shown yet
  std::string word_;
  bool is_line_start_ = true;  // nothing of the text's line was shown yet
  bool is_code_ = false;       // between fences
};

}  // namespace aster::cli
