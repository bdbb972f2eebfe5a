// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A line from a person at a terminal, who can edit it and fetch earlier ones back; what is pasted
// is one entry however many lines it has. Must not know what lines mean.
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

// Not for concurrent use. The terminal is as it was found whenever no line is being read.
class LineEditor {
 public:
  // Shows what is typed on `out`, which is a terminal. Earlier lines are kept in the file
  // `history_path` (none where empty; one that cannot be read or written is done without).
  // Tab completes lines to one of `completions`.
  LineEditor(std::FILE* out, std::string history_path, std::vector<std::string> completions);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  LineInput Read(const std::string& prompt);
  // Puts an entry among those that the arrow keys bring back.
  void Remember(const std::string& entry);

  struct State;  // known to the functions that the editor calls back

 private:
  std::unique_ptr<State> state_;
};

}  // namespace aster::cli
