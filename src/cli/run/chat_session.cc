// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/run/chat_session.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/run/chat_settings.h"
#include "cli/run/reply_printer.h"
#include "cli/run/run_report.h"
#include "cli/session/session_keeper.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/line_editor.h"
#include "cli/terminal/screen_size.h"

namespace aster::cli {
namespace {

constexpr std::string_view kHelp =
    "  /help            this list\n"
    "  /reset           begin a new conversation\n"
    "  /system [TEXT]   begin a new conversation with this system message (none without TEXT)\n"
    "  /undo            take back the last question and its answer\n"
    "  /regenerate      answer the last question again\n"
    "  /set [NAME X]    change a sampling option, such as /set temp 0.2; without NAME, list all\n"
    "  /model           the model, its size and its context\n"
    "  /tools           the tools that the model may call\n"
    "  /save NAME       save the conversation with its KV cache; a NAME with a slash is a file's,\n"
    "                   and one that also ends with .json gets the text alone\n"
    "  /load NAME       go on from there\n"
    "  /stats           tokens, context and rates\n"
    "  /quit            leave; so does Ctrl-D\n"
    "Ctrl-C stops an answer, Tab completes a command. A line that ends with \\ goes on in the "
    "next; \"\"\" begins and ends "
    "an entry of several lines.\n";
constexpr const char* kCommands[] = {"/help",       "/reset", "/system", "/undo",
                                     "/regenerate", "/set",   "/model",  "/tools",
                                     "/save",       "/load",  "/stats",  "/quit"};
constexpr std::string_view kNoTools = "None: aster run --tools FILE offers some.\n";
constexpr std::string_view kBlockMark = "\"\"\"";

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::vector<std::string> CompletedLines() {
  std::vector<std::string> lines(std::begin(kCommands), std::end(kCommands));
  for (const std::string& name : SettingNames()) lines.push_back("/set " + name + " ");
  return lines;
}

class Session {
 public:
  Session(respond::Dialogue& chat, const Clock& clock, const ChatSessionOptions& options,
          Console& console)
      : chat_(chat),
        clock_(clock),
        options_(options),
        console_(console),
        editor_(console.out_is_terminal() ? console.out() : console.err(), options.history_path,
                CompletedLines()) {}

  Status Run() {
    console_.Print("{}\n", options_.model);
    console_.Print("Type a message; /help lists commands, Ctrl-D leaves.\n");
    while (!leaving_) {
      TRY(console_.Flush());
      if (!chat_.open_calls().empty()) {
        GiveResults();
        continue;
      }
      const auto entry = ReadEntry("> ");
      if (!entry) {
        if (!leaving_) console_.Print("(Ctrl-D leaves)\n");
        continue;
      }
      const std::string_view text = Trimmed(*entry);
      if (text.empty()) continue;
      editor_.Remember(*entry);
      if (text.starts_with('/')) {
        RunCommand(text);
      } else {
        if (options_.before_turn) options_.before_turn(*entry);
        Show([&](ReplyPrinter& printer, const IsCancelled& is_cancelled) {
          return chat_.Ask(*entry, printer, is_cancelled);
        });
      }
    }
    return console_.Flush();
  }

 private:
  using IsCancelled = respond::Dialogue::IsCancelled;
  using Answer = FunctionRef<Result<respond::Answered>(ReplyPrinter&, const IsCancelled&)>;

  // One line, or several of one entry; nullopt after Ctrl-C or Ctrl-D.
  std::optional<std::string> ReadEntry(const std::string& prompt) {
    std::string entry;
    bool in_block = false;
    for (bool first = true;; first = false) {
      InterruptGuard::Clear();
      LineInput input = editor_.Read(first ? prompt : ". ");
      if (input.kind == LineInput::Kind::kInterrupted) return std::nullopt;
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
      // The text after the opening mark is a line only if it is not empty.
      if (!(in_block && first && line.empty())) entry += std::string(line) + "\n";
    }
  }

  // The user acts as the tool: types the result of each call, and the model continues.
  void GiveResults() {
    if (!std::exchange(has_explained_, true)) {
      console_.Print("{}\n", console_.Styled(Style::kDim,
                                             "(type what the tool answers; Ctrl-C takes the "
                                             "question back)"));
    }
    std::vector<std::string> results;
    for (const respond::Call& call : chat_.open_calls()) {
      const auto result = ReadEntry(fmt::format("{}> ", Harmless(call.name)));
      if (!result) break;
      results.push_back(*result);
    }
    if (leaving_) return;
    if (results.size() < chat_.open_calls().size()) return Tell(chat_.Undo(), "Taken back.");
    Show([&](ReplyPrinter& printer, const IsCancelled& is_cancelled) {
      return chat_.GiveResults(results, printer, is_cancelled);
    });
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
      console_.Print("The conversation is empty.\n");
    } else if (name == "/system") {
      chat_.SetSystem(argument);
      console_.Print("{}\n", argument.empty() ? "No system message." : "A new conversation.");
    } else if (name == "/undo") {
      Tell(chat_.Undo(), "Removed the last turn.");
    } else if (name == "/regenerate") {
      Show([&](ReplyPrinter& printer, const IsCancelled& is_cancelled) {
        return chat_.Regenerate(printer, is_cancelled);
      });
    } else if (name == "/stats") {
      PrintStats();
    } else if (name == "/set") {
      RunSet(argument);
    } else if (name == "/model") {
      console_.Print("{}\n", options_.model);
    } else if (name == "/tools") {
      console_.Write(options_.tools.empty() ? kNoTools : options_.tools);
    } else if (name == "/save" || name == "/load") {
      RunFileCommand(name, argument);
    } else {
      console_.Complain("error",
                        fmt::format("there is no command {}; /help lists them", Harmless(name)));
    }
  }

  // "temp 0.2"
  void RunSet(const std::string& argument) {
    if (argument.empty()) {
      console_.Write(DescribeSettings(chat_.settings()));
      return;
    }
    const size_t space = std::min(argument.find_first_of(" \t="), argument.size());
    const std::string name = argument.substr(0, space);
    if (options_.has_vocabularies && name == kLogitBias) {
      console_.Complain("error", "logit-bias names tokens of one vocabulary, and here are several");
      return;
    }
    const std::string value(
        Trimmed(std::string_view(argument).substr(std::min(space + 1, argument.size()))));
    const Result<respond::Settings> wrong =
        InvalidArgument(fmt::format("/set {} needs a value", name));
    auto changed =
        value.empty() ? wrong : WithSetting(chat_.settings(), name, value, options_.vocab_size);
    if (!changed.ok()) {
      console_.Complain("error", Harmless(changed.error().message()));
      return;
    }
    chat_.SetSettings(std::move(changed).value());
    console_.Print("{} is {} now.\n", Harmless(name), Harmless(value));
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

  // Makes an answer and shows it while it is made.
  void Show(Answer answer) {
    InterruptGuard::Clear();
    ReplyPrinter printer(console_, clock_,
                         {.is_harmless = true,
                          .shows_parts = options_.shows_parts,
                          .columns = SizeOfScreen(console_.out()).value_or(ScreenSize{}).columns});
    const auto answered =
        answer(printer, [&] { return InterruptGuard::Interrupted() || printer.has_failed(); });
    printer.Finish();
    if (printer.has_written() && !printer.ends_line()) console_.Print("\n");
    if (!answered.ok() && answered.error().code() == Code::kCancelled) {
      // An ensemble has no answer before its end.
      console_.Print("{}\n", console_.Styled(Style::kDim, "(stopped, and taken back)"));
      return;
    }
    if (!answered.ok()) {
      console_.Complain("error", answered.error().message());
      return;
    }
    const engine::Finish& finish = answered->generated.finish;
    const engine::FinishReason reason = finish.reason;
    if (reason == engine::FinishReason::kCancelled) {
      console_.Print("{}\n", console_.Styled(Style::kDim, "(stopped)"));
    } else if (reason == engine::FinishReason::kContext) {
      console_.Complain(
          "note", "the context is full; /reset begins a new conversation, /undo removes a turn");
    }
    last_ = finish;
    if (options_.tell_more) options_.tell_more();
  }

  void PrintStats() {
    const respond::ContextUse context = chat_.context();
    console_.Print("context   {} of {} tokens", context.tokens, context.limit_tokens);
    if (context.held_bytes > 0) console_.Print(", {} of memory", FormatBytes(context.held_bytes));
    console_.Print("\n");
    console_.Print("messages  {}\n", chat_.message_count());
    if (last_) console_.Print("last      {}\n", DescribeRates(last_->counts, last_->times));
    const respond::ChatTotals& totals = chat_.totals();
    if (totals.answers > 0) {
      console_.Print("together  {}\n", DescribeRates(totals.counts, totals.times, totals.answers));
    }
  }

  respond::Dialogue& chat_;
  const Clock& clock_;
  const ChatSessionOptions& options_;
  Console& console_;
  LineEditor editor_;
  bool leaving_ = false;
  bool has_explained_ = false;  // how to answer calls
  std::optional<engine::Finish> last_;
};

}  // namespace

Status RunChatSession(respond::Dialogue& chat, const Clock& clock,
                      const ChatSessionOptions& options, Console& console) {
  const InterruptGuard guard;
  TRY(Session(chat, clock, options, console).Run());
  const respond::ChatTotals& totals = chat.totals();
  if (!options.quiet && totals.answers > 0) {
    console.Note(DescribeRates(totals.counts, totals.times, totals.answers));
  }
  return Ok();
}

}  // namespace aster::cli
