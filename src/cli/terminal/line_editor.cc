// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/terminal/line_editor.h"

#include <histedit.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdint>
#include <string_view>

#include "base/utf8.h"
#include "cli/terminal/completion.h"
#include "cli/terminal/interrupt.h"

namespace aster::cli {
namespace {

constexpr int kKeptEntries = 1000;
// Terminals with bracketed paste put these around pasted text.
constexpr std::string_view kAskForPasteMarks = "\033[?2004h";
constexpr std::string_view kNoPasteMarks = "\033[?2004l";
constexpr std::string_view kPasteBegins = "\033[200~";
constexpr std::string_view kPasteEnds = "\033[201~";
// How a newline within an entry is shown while the entry is edited.
constexpr std::string_view kShownNewline = "\u2424";
// The longest wait for the rest of an escape sequence; a user needs longer for the next key.
constexpr int kEscapeWaitMs = 40;

std::string ReplaceAll(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace

struct LineEditor::State {
  std::FILE* out = nullptr;
  std::string history_path;
  std::vector<std::string> completions;
  std::string prompt;
  EditLine* editor = nullptr;
  History* history = nullptr;
  HistEvent event = {};
  std::string pending;  // bytes read from the terminal and not passed to the editor yet
  bool pasting = false;
  bool ended = false;

  bool Fill(int wait_ms);
  bool TakeMark(std::string_view mark);
  int Next(wchar_t* character);
};

namespace {

char* PromptOf(EditLine* editor) {
  LineEditor::State* state = nullptr;
  el_get(editor, EL_CLIENTDATA, &state);
  return state->prompt.data();
}

int NextOf(EditLine* editor, wchar_t* character) {
  LineEditor::State* state = nullptr;
  el_get(editor, EL_CLIENTDATA, &state);
  return state->Next(character);
}

void Write(std::FILE* out, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
}

// Inserts the only completion, or lists all.
unsigned char CompleteLine(EditLine* editor, int /*key*/) {
  LineEditor::State* state = nullptr;
  el_get(editor, EL_CLIENTDATA, &state);
  const LineInfo* const line = el_line(editor);
  const std::string typed(line->buffer, line->cursor);
  const Completion completion = Complete(typed, state->completions);
  if (!completion.more.empty()) {
    el_insertstr(editor, completion.more.c_str());
    return CC_REFRESH;
  }
  if (completion.choices.empty()) return CC_ERROR;
  std::string list = "\n";
  for (const std::string& choice : completion.choices) list += choice + "  ";
  Write(state->out, list + "\n");
  return CC_REDISPLAY;
}

}  // namespace

// Reads more bytes; false at the end, when interrupted, or (with a time limit) if none came.
bool LineEditor::State::Fill(int wait_ms) {
  pollfd waited = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  for (;;) {
    if (InterruptGuard::Interrupted()) return false;
    const int ready = poll(&waited, 1, wait_ms);
    if (ready == 0) return false;
    if (ready < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    // One byte at a time: input typed ahead stays with the system, for the next reader.
    char byte = 0;
    const ssize_t count = read(STDIN_FILENO, &byte, 1);
    if (count == 1) {
      pending.push_back(byte);
      return true;
    }
    if (count < 0 && errno == EINTR) continue;
    ended = true;
    return false;
  }
}

// Removes `mark` from the input if it comes next; otherwise its bytes stay pending.
bool LineEditor::State::TakeMark(std::string_view mark) {
  while (pending.size() < mark.size() && mark.starts_with(pending)) {
    if (!Fill(kEscapeWaitMs)) return false;
  }
  if (!std::string_view(pending).starts_with(mark)) return false;
  pending.erase(0, mark.size());
  return true;
}

// libedit's interface: 1 and a character, 0 at the end, -1 if interrupted.
int LineEditor::State::Next(wchar_t* character) {
  for (;;) {
    if (pending.empty() && !Fill(-1)) return ended ? 0 : -1;
    if (pending[0] == '\033') {
      if (TakeMark(pasting ? kPasteEnds : kPasteBegins)) {
        pasting = !pasting;
        continue;
      }
      if (pasting) {  // pasted text has no control characters
        pending.erase(0, 1);
        continue;
      }
    }
    if (pasting && (pending[0] == '\n' || pending[0] == '\r')) {
      pending.erase(0, 1);
      *character = L'\u2424';
      return 1;
    }
    if (pasting && (pending[0] == '\t' || static_cast<uint8_t>(pending[0]) >= ' ')) {
      if (pending[0] == '\t') pending[0] = ' ';
    } else if (pasting) {
      pending.erase(0, 1);
      continue;
    }
    break;
  }
  // The rest of a multi-byte character comes at once.
  Utf8Step decoded = DecodeUtf8(pending);
  while (!decoded.valid && static_cast<uint8_t>(pending[0]) >= 0xc0 && pending.size() < 4 &&
         Fill(kEscapeWaitMs)) {
    decoded = DecodeUtf8(pending);
  }
  *character = static_cast<wchar_t>(decoded.valid ? decoded.code_point : 0xfffd);
  pending.erase(0, decoded.size);
  return 1;
}

LineEditor::LineEditor(std::FILE* out, std::string history_path,
                       std::vector<std::string> completions)
    : state_(std::make_unique<State>()) {
  // Only for characters in this editor: texts are UTF-8 whatever the environment says.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  state_->out = out;
  state_->history_path = std::move(history_path);
  state_->completions = std::move(completions);
  state_->history = history_init();
  history(state_->history, &state_->event, H_SETSIZE, kKeptEntries);
  history(state_->history, &state_->event, H_SETUNIQUE, 1);
  if (!state_->history_path.empty()) {
    history(state_->history, &state_->event, H_LOAD, state_->history_path.c_str());
  }
  state_->editor = el_init("aster", stdin, out, stderr);
  EditLine* const editor = state_->editor;
  el_set(editor, EL_CLIENTDATA, state_.get());
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_SIGNAL, 0);
  el_set(editor, EL_HIST, history, state_->history);
  el_set(editor, EL_PROMPT, PromptOf);
  el_set(editor, EL_GETCFN, NextOf);
  el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  // String literals, as el_set would copy strings and never free the copies.
  el_wset(editor, EL_ADDFN, L"aster-complete", L"Complete the line", CompleteLine);
  el_set(editor, EL_BIND, "^I", "aster-complete", nullptr);
}

LineEditor::~LineEditor() {
  el_end(state_->editor);
  history_end(state_->history);
}

LineInput LineEditor::Read(const std::string& prompt) {
  State& state = *state_;
  state.prompt = prompt;
  state.pasting = false;
  Write(state.out, kAskForPasteMarks);
  // Before the prompt: keys that follow it at once must not be echoed twice.
  el_set(state.editor, EL_PREP_TERM, 1);
  int count = 0;
  const char* line = el_gets(state.editor, &count);
  Write(state.out, kNoPasteMarks);
  if (line == nullptr || count <= 0) {
    if (InterruptGuard::Interrupted()) {
      state.pending.clear();
      Write(state.out, "\n");
      return {LineInput::Kind::kInterrupted, ""};
    }
    return {LineInput::Kind::kEnd, ""};
  }
  std::string text(line, static_cast<size_t>(count));
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return {LineInput::Kind::kText, ReplaceAll(std::move(text), kShownNewline, "\n")};
}

void LineEditor::Remember(const std::string& entry) {
  State& state = *state_;
  const std::string line = ReplaceAll(entry, "\n", kShownNewline);
  history(state.history, &state.event, H_ENTER, line.c_str());
  if (state.history_path.empty()) return;
  // A user's questions are private.
  const mode_t earlier = umask(077);
  history(state.history, &state.event, H_SAVE, state.history_path.c_str());
  umask(earlier);
}

}  // namespace aster::cli
