// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Reads a line from a user at a terminal, with editing and a history; pasted text is one entry,
// however many lines it has. Must not know what lines mean.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace aster::cli {

struct LineInput {
  enum class Kind { kText, kInterrupted, kEnd };
  Kind kind;
  std::string text;  // without the newline at the end
};

// Not for concurrent use. While no line is being read, the terminal has its original state.
class LineEditor {
 public:
  // Shows typed text on `out`, a terminal. Earlier lines are stored in the file `history_path`
  // (empty: none; a file that cannot be read or written is ignored). Tab completes lines to one of
  // `completions`.
  LineEditor(std::FILE* out, std::string history_path, std::vector<std::string> completions);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  LineInput Read(const std::string& prompt);
  // Adds an entry to those that the arrow keys show.
  void Remember(const std::string& entry);

  struct State;  // used by the editor's callbacks

 private:
  std::unique_ptr<State> state_;
};

}  // namespace aster::cli
