// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/run/chat_session.h"

#include <optional>
#include <utility>

#include "base/units.h"
#include "cli/run/run_report.h"
#include "cli/session/session_keeper.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/line_editor.h"
#include "cli/terminal/progress.h"

namespace aster::cli {
namespace {

constexpr std::string_view kHelp =
    "  /help            this list\n"
    "  /reset           forget what was said\n"
    "  /system [TEXT]   another system message (none without TEXT), and forget what was said\n"
    "  /undo            take back the last question and its answer\n"
    "  /regenerate      answer the last question again\n"
    "  /save NAME       keep the conversation, and what is remembered of it; a NAME with a slash "
    "is "
    "a\n"
    "                   file's, and one that also ends with .json gets the text alone\n"
    "  /load NAME       go on from there\n"
    "  /stats           tokens, context and rates\n"
    "  /quit            leave; so does Ctrl-D\n"
    "Ctrl-C stops an answer. A line that ends with \\ goes on in the next; \"\"\" begins and ends "
    "an "
    "entry of several lines.\n";
constexpr std::string_view kBlockMark = "\"\"\"";

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

class Session {
 public:
  Session(Chat& chat, const Clock& clock, const ChatSessionOptions& options, Console& console)
      : chat_(chat),
        clock_(clock),
        options_(options),
        console_(console),
        editor_(console.out_is_terminal() ? console.out() : console.err(), options.history_path) {}

  Status Run() {
    console_.Print("Type what you want to say; /help lists what else there is, Ctrl-D leaves.\n");
    while (!leaving_) {
      TRY(console_.Flush());
      const auto entry = ReadEntry();
      if (!entry) continue;
      const std::string_view text = Trimmed(*entry);
      if (text.empty()) continue;
      editor_.Remember(*entry);
      if (text.starts_with('/')) {
        RunCommand(text);
      } else {
        Show([&](const ChatSinks& sinks) { return chat_.Ask(*entry, sinks); });
      }
    }
    return console_.Flush();
  }

 private:
  using Answer = FunctionRef<Result<engine::Generated>(const ChatSinks&)>;

  // One line, or several that belong together; nothing where there is nothing to answer.
  std::optional<std::string> ReadEntry() {
    std::string entry;
    bool in_block = false;
    for (bool first = true;; first = false) {
      InterruptGuard::Clear();
      LineInput input = editor_.Read(first ? "> " : ". ");
      if (input.kind == LineInput::Kind::kInterrupted) {
        if (first) console_.Print("(Ctrl-D leaves)\n");
        return std::nullopt;
      }
      if (input.kind == LineInput::Kind::kEnd) {
        leaving_ = true;
        console_.Print("\n");
        return std::nullopt;
      }
      std::string_view line = input.text;
      if (first && Trimmed(line).starts_with(kBlockMark)) {
        in_block = true;
        line = Trimmed(line).substr(kBlockMark.size());
      }
      if (in_block && Trimmed(line).ends_with(kBlockMark)) {
        return entry + std::string(line.substr(0, line.rfind(kBlockMark)));
      }
      if (!in_block && !line.ends_with('\\')) return entry + std::string(line);
      if (!in_block) line.remove_suffix(1);
      // What stands behind the opening mark is a line only if there is something.
      if (!(in_block && first && line.empty())) entry += std::string(line) + "\n";
    }
  }

  void RunCommand(std::string_view text) {
    const size_t space = text.find_first_of(" \t\n");
    const std::string_view name = text.substr(0, space);
    const std::string argument(space == std::string_view::npos ? "" : Trimmed(text.substr(space)));
    if (name == "/help" || name == "/?") {
      console_.Write(kHelp);
    } else if (name == "/quit" || name == "/exit" || name == "/bye") {
      leaving_ = true;
    } else if (name == "/reset") {
      chat_.Reset();
      console_.Print("Nothing was said.\n");
    } else if (name == "/system") {
      chat_.SetSystem(argument);
      console_.Print("{}\n", argument.empty() ? "No system message." : "A new conversation.");
    } else if (name == "/undo") {
      Tell(chat_.Undo(), "Taken back.");
    } else if (name == "/regenerate") {
      Show([&](const ChatSinks& sinks) { return chat_.Regenerate(sinks); });
    } else if (name == "/stats") {
      PrintStats();
    } else if (name == "/save" || name == "/load") {
      RunFileCommand(name, argument);
    } else {
      console_.Complain("error",
                        fmt::format("there is no command {}; /help lists them", Harmless(name)));
    }
  }

  void RunFileCommand(std::string_view name, const std::string& argument) {
    if (argument.empty()) {
      console_.Complain("error", fmt::format("{} needs a name, of a session or a file", name));
      return;
    }
    const auto done = name == "/save" ? options_.save(argument) : options_.load(argument);
    if (done.ok()) {
      console_.Print("{}\n", Harmless(*done));
    } else {
      console_.Complain("error", Harmless(done.error().message()));
    }
  }

  void Tell(const Status& status, std::string_view done) {
    if (status.ok()) {
      console_.Print("{}\n", done);
    } else {
      console_.Complain("error", status.error().message());
    }
  }

  // Makes an answer and shows it as it comes.
  void Show(Answer answer) {
    InterruptGuard::Clear();
    std::optional<Progress> progress;
    progress.emplace(console_, clock_, "reading", Progress::Unit::kTokens);
    bool at_line_begin = true;
    const ChatSinks sinks = {
        .on_prefill = [&](uint64_t done, uint64_t total) { progress->Update(done, total); },
        .on_text =
            [&](std::string_view text) {
              progress.reset();
              if (text.empty()) return;
              console_.Write(Harmless(text));
              if (!console_.Flush().ok()) InterruptGuard::Interrupt();
              at_line_begin = text.ends_with('\n');
            },
        .is_cancelled = InterruptGuard::Interrupted};
    const Result<engine::Generated> generated = answer(sinks);
    progress.reset();
    if (!at_line_begin) console_.Print("\n");
    if (!generated.ok()) {
      console_.Complain("error", generated.error().message());
      return;
    }
    const engine::FinishReason reason = generated->finish.reason;
    if (reason == engine::FinishReason::kCancelled) {
      console_.Print("{}\n", console_.Styled(Style::kDim, "(stopped)"));
    } else if (reason == engine::FinishReason::kContext) {
      console_.Complain("note", "the context is full; /reset begins anew, /undo takes back a turn");
    }
    last_ = generated->finish;
  }

  void PrintStats() {
    const engine::Sequence& sequence = chat_.sequence();
    console_.Print("context   {} of {} tokens", sequence.length(), chat_.context_limit());
    // Nodes know that themselves.
    if (sequence.is_local()) {
      console_.Print(", {} of memory", FormatBytes(sequence.table().HeldBytes()));
    }
    console_.Print("\n");
    console_.Print("messages  {}\n", chat_.messages().size());
    if (last_) console_.Print("last      {}\n", DescribeRates(last_->counts, last_->times));
    const ChatTotals& totals = chat_.totals();
    if (totals.answers > 0) {
      console_.Print("together  {}\n", DescribeRates(totals.counts, totals.times, totals.answers));
    }
  }

  Chat& chat_;
  const Clock& clock_;
  const ChatSessionOptions& options_;
  Console& console_;
  LineEditor editor_;
  bool leaving_ = false;
  std::optional<engine::Finish> last_;
};

}  // namespace

Status RunChatSession(Chat& chat, const Clock& clock, const ChatSessionOptions& options,
                      Console& console) {
  const InterruptGuard guard;
  TRY(Session(chat, clock, options, console).Run());
  const ChatTotals& totals = chat.totals();
  if (!options.quiet && totals.answers > 0) {
    console.Note(DescribeRates(totals.counts, totals.times, totals.answers));
  }
  return Ok();
}

}  // namespace aster::cli
