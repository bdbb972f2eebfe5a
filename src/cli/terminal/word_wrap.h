// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Breaks text between words while it comes, so that a terminal does not break it within one. Lines
// of fenced code stay as they are. Must not know terminals, nor colours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aster::cli {

class WordWrap {
 public:
  // A line has at most `columns`; 0: as many as it likes.
  explicit WordWrap(size_t columns) : columns_(columns) {}

  // What can be shown of the text so far: all but its last word, which may go on.
  std::string Add(std::string_view text);
  // The last word: nothing more comes, or what comes is shown in another way.
  std::string Flush();

 private:
  void AddCharacter(std::string_view character, std::string& shown);
  void EndWord(std::string& shown);
  void EndLine(std::string& shown);

  const size_t columns_;
  size_t column_ = 0;   // behind what was shown
  std::string blanks_;  // in front of the word, not shown yet
  std::string word_;
  bool is_line_start_ = true;  // nothing of the text's line was shown
  bool is_code_ = false;       // between fences
};

}  // namespace aster::cli
