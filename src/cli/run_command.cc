// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster run: a model answers, once or in a conversation.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "cli/answerer.h"
#include "cli/chat.h"
#include "cli/chat_session.h"
#include "cli/commands.h"
#include "cli/model_text.h"
#include "cli/progress.h"
#include "cli/run_options.h"
#include "cli/run_report.h"

namespace aster::cli {
namespace {

constexpr const char* kNoTemplate =
    "this model carries no chat template: texts are continued as they are";

// A model that is ready to answer, and what it needs for that.
struct Loaded {
  std::unique_ptr<text::Tokenizer> tokenizer;  // null where only ids are asked for
  std::optional<ChatPrompt> prompt;            // with the tokenizer
  std::unique_ptr<Answerer> answerer;
  engine::Request request;
  int64_t load_ns = 0;
};

// What can be wrong with the options comes first: weights take their time.
Result<Loaded> Load(const RunOptions& options, const gguf::ModelFiles& files, const Clock& clock,
                    Console& console) {
  Loaded loaded;
  const model::Shape shape = TRY(model::ReadShape(files.metadata()));
  const bool needs_text = options.ids_path.empty() || !options.stops.empty() ||
                          files.metadata().Contains("tokenizer.ggml.model");
  if (needs_text) {
    loaded.tokenizer = TRY(LoadTokenizer(files, options.model.paths.front(), console));
    loaded.prompt = TRY(ChatPrompt::Make(files.metadata(), *loaded.tokenizer));
  }
  const text::Vocab* vocab = loaded.tokenizer ? &loaded.tokenizer->vocab() : nullptr;
  loaded.request = TRY(options.ForEngine(vocab, shape.vocab_size));
  const int64_t start_ns = clock.NowNs();
  // Batches are small enough that whoever cancels is heard at once.
  loaded.answerer = TRY(OpenAnswerer(
      files, loaded.tokenizer.get(), clock,
      {.model = &options.model, .cluster = &options.cluster, .batch_tokens = 256, .max_running = 1},
      console));
  loaded.load_ns = clock.NowNs() - start_ns;
  return loaded;
}

// The prompt as text, from where it was given.
Result<std::string> ReadPrompt(const RunOptions& options) {
  if (options.prompt) return *options.prompt;
  if (!options.prompt_path.empty()) return ReadFile(options.prompt_path, text::kMaxTextBytes);
  return ReadStream(stdin, "standard input", text::kMaxTextBytes);
}

Result<std::vector<int32_t>> TokensOf(const RunOptions& options, const Loaded& loaded,
                                      const std::string& text) {
  if (!options.raw && loaded.prompt->has_template()) {
    std::vector<Message> messages;
    if (!options.system.empty()) messages.push_back({"system", options.system});
    messages.push_back({"user", text});
    return loaded.prompt->Encode(TRY(loaded.prompt->Render(messages)));
  }
  return loaded.prompt->EncodeRaw(text, /*begins=*/true);
}

Result<ExitStatus> AnswerOnce(const RunOptions& options, const gguf::ModelFiles& files,
                              Console& console) {
  std::string text;
  std::vector<int32_t> tokens;
  if (options.ids_path.empty()) {
    text = TRY(ReadPrompt(options));
    if (text.empty()) return InvalidArgument("the prompt is empty: give some text to go on from");
  } else {
    tokens = TRY(ReadIds(options.ids_path));
  }
  const SystemClock clock;
  Loaded loaded = TRY(Load(options, files, clock, console));
  if (options.ids_path.empty()) {
    if (!options.raw && !loaded.prompt->has_template()) console.Complain("note", kNoTemplate);
    tokens = TRY(TokensOf(options, loaded, text));
  }

  engine::Answering& answering = loaded.answerer->answering();
  engine::Sequence sequence = answering.NewSequence();
  sequence.SetHistory(tokens);
  std::optional<Progress> progress;
  progress.emplace(console, clock, "reading", Progress::Unit::kTokens);
  const auto show = [&](std::string_view more) {
    progress.reset();
    if (options.json || more.empty()) return;
    console.Write(more);
    // A failure is told at the end.
    static_cast<void>(console.Flush());
  };
  engine::Request request = loaded.request;
  request.sequence = &sequence;
  request.on_prefill = [&](uint64_t done, uint64_t total) { progress->Update(done, total); };
  request.on_token = [&](const engine::Delta& delta) { show(delta.text); };
  request.on_finish = [&](const engine::Finish& finish) { show(finish.text); };
  const engine::Generated answer = TRY(engine::Generate(answering, std::move(request)));
  const Status saved = loaded.answerer->Save();  // the answer is told in any case
  if (options.json) {
    const RunReport report = {.model = options.model.paths.front(),
                              .seed = loaded.request.sampling.seed,
                              .load_ns = loaded.load_ns,
                              .answer = &answer};
    console.Print("{}\n",
                  RunToJson(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    TRY(saved);
    return kExitOk;
  }
  if (!answer.text.ends_with('\n')) console.Print("\n");
  TRY(console.Flush());
  if (!options.quiet) {
    console.Note(DescribeRates(answer.finish.counts, answer.finish.times) +
                 fmt::format("; ended by {}; seed {}",
                             engine::FinishReasonName(answer.finish.reason),
                             loaded.request.sampling.seed));
    if (const std::string work = loaded.answerer->DescribeWork(); !work.empty()) console.Note(work);
  }
  TRY(saved);
  return kExitOk;
}

// Where earlier entries are kept; nowhere if this user has no place for them.
std::string HistoryPath(const RunOptions& options) {
  if (options.no_history) return "";
  const auto folder = DataDirectory();
  if (!folder.ok() || !MakeDirectories(*folder).ok()) return "";
  return *folder + "/history";
}

Result<ExitStatus> Converse(const RunOptions& options, const gguf::ModelFiles& files,
                            Console& console) {
  const SystemClock clock;
  Loaded loaded = TRY(Load(options, files, clock, console));
  ChatPrompt& prompt = *loaded.prompt;
  if (options.raw) {
    prompt.DropTemplate();
  } else if (!prompt.has_template()) {
    console.Complain("note", kNoTemplate);
  }
  Chat chat(loaded.answerer->answering(), prompt, std::move(loaded.request), options.system);
  TRY(RunChatSession(chat, clock, {.history_path = HistoryPath(options), .quiet = options.quiet},
                     console));
  TRY(loaded.answerer->Save());
  return kExitOk;
}

Result<ExitStatus> RunModel(const RunOptions& options, Console& console) {
  // A reader that has had enough ends this program without a word, as it does any other.
  std::signal(SIGPIPE, SIG_DFL);
  const gguf::ModelFiles files = TRY(gguf::ModelFiles::Open(options.model.paths));
  const bool has_prompt =
      options.prompt || !options.prompt_path.empty() || !options.ids_path.empty();
  if (has_prompt || isatty(STDIN_FILENO) == 0) return AnswerOnce(options, files, console);
  if (options.json)
    return InvalidArgument("--json needs a prompt: give -p, or one on standard input");
  return Converse(options, files, console);
}

}  // namespace

Run DeclareRun(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  options->Declare(app);
  app.footer(
      "Without a prompt, at a terminal: a conversation; /help there says more. Otherwise one "
      "answer "
      "to the prompt, which\n"
      "is a user's message where the model has a chat template, or a text to go on from (--raw, or "
      "no template).\n"
      "  aster run\n"
      "  aster run m.gguf -p 'Why is the sky blue?' -n 200 --temp 0.7\n"
      "  aster run m.gguf -p 'Once upon a time' -n 64 --temp 0 --raw --json\n"
      "  aster run m.gguf --system 'Answer in French.' < question.txt");
  return [options](Console& console) -> Result<ExitStatus> {
    TRY(options->model.Find());
    return RunModel(*options, console);
  };
}

}  // namespace aster::cli
