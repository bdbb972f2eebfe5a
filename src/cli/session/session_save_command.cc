// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster session save: computes a text or a conversation, and saves it with its KV cache.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "cli/options/cluster_options.h"
#include "cli/options/model_options.h"
#include "cli/session/session_commands.h"
#include "cli/session/session_keeper.h"
#include "cli/terminal/console.h"
#include "cli/terminal/progress.h"
#include "engine/generate.h"
#include "model/files/support.h"
#include "open/load_tokenizer.h"
#include "open/model_files.h"
#include "open/open_model.h"
#include "respond/chat.h"

namespace aster::cli {
namespace {

constexpr size_t kMaxFileBytes = size_t{256} << 20;

struct SessionSaveFlags {
  std::string name;
  open::ModelOptions model;
  open::ClusterOptions cluster;
  std::string prompt_path;
  std::string conversation_path;
  bool raw = false;
  bool quiet = false;
};

Result<std::vector<int32_t>> TokensOf(const respond::Model& model, const std::string& system,
                                      const std::string& question) {
  respond::Conversation conversation;
  conversation.messages = {{{"role", "system"}, {"content", system}},
                           {{"role", "user"}, {"content", question}}};
  return TRY(respond::MakePrompt(model, conversation)).tokens;
}

// The tokens that every prompt with this system message begins with, whatever the question is.
Result<std::vector<int32_t>> TokensBefore(const respond::Model& model, const std::string& system) {
  const std::vector<int32_t> one = TRY(TokensOf(model, system, "a"));
  const std::vector<int32_t> other = TRY(TokensOf(model, system, "1 b"));
  const auto [end, ignored] = std::ranges::mismatch(one, other);
  return std::vector<int32_t>(one.begin(), end);
}

// The conversation to save, not computed yet.
Result<respond::Transcript> TranscriptToKeep(const SessionSaveFlags& options,
                                             const respond::Model& model, uint32_t vocab_size) {
  respond::Transcript transcript{.vocab_size = vocab_size};
  if (!options.conversation_path.empty()) {
    const std::string& path = options.conversation_path;
    return respond::ReadTranscript(TRY(ReadFile(path, kMaxFileBytes)), vocab_size).In(path);
  }
  const std::string text = TRY(ReadFile(options.prompt_path, text::kMaxTextBytes));
  if (options.raw || !model.prompt->has_template()) {
    transcript.tokens = TRY(model.prompt->EncodeRaw(text, /*begins=*/true));
    return transcript;
  }
  transcript.system = text;
  transcript.tokens = TRY(TokensBefore(model, text));
  return transcript;
}

Status Compute(engine::Generator& generator, respond::Chat& chat, Console& console,
               const Clock& clock) {
  Progress progress(console, clock, "prefill", Progress::Unit::kTokens);
  engine::Request request;
  request.sequence = &chat.sequence();
  request.max_tokens = 0;
  request.on_prefill = [&](uint64_t done, uint64_t total) { progress.Update(done, total); };
  TRY(engine::Generate(generator, std::move(request)));
  return Ok();
}

Result<ExitStatus> Save(const SessionSaveFlags& options, Console& console) {
  SystemClock clock;
  // An invalid name is refused before anything is computed.
  static_cast<void>(TRY(TRY(UserSessions(clock)).PathOf(options.name)));
  const gguf::ModelFiles files = TRY(open::OpenModelFiles(options.model.paths, options.cluster));
  const model::Shape shape = TRY(model::ShapeOf(files));
  const auto tokenizer = TRY(open::LoadTokenizer(files, options.model.paths.front(), console));
  const chat::ChatPrompt prompt = TRY(chat::ChatPrompt::Make(files.metadata(), *tokenizer));
  const respond::Model model = respond::ModelOf(prompt);
  respond::Transcript transcript = TRY(TranscriptToKeep(options, model, shape.vocab_size));
  if (transcript.tokens.empty()) {
    const bool is_text = options.conversation_path.empty();
    return InvalidArgument(
        fmt::format("{}: gives no tokens; give a text or a conversation that is not empty",
                    is_text ? options.prompt_path : options.conversation_path));
  }
  const auto opened = TRY(open::OpenModel(
      files, tokenizer.get(), clock,
      {.model = &options.model, .cluster = &options.cluster, .max_running = 1, .is_kept = true},
      console));
  engine::Generator& generator = opened->generator();
  SessionKeeper keeper = TRY(SessionKeeper::Make(files, options.model, generator, clock, console));
  respond::Chat chat(generator, model, /*settings=*/{}, /*base=*/{}, /*system=*/"");
  chat.Restore(std::move(transcript));
  TRY(Compute(generator, chat, console, clock));
  const std::string said = TRY(keeper.Save(options.name, chat));
  TRY(opened->Save());
  if (!options.quiet) console.Print("{}\n", Harmless(said));
  return kExitOk;
}

}  // namespace

Run DeclareSessionSave(CLI::App& app) {
  auto options = std::make_shared<SessionSaveFlags>();
  app.add_option("name", options->name, "Name of the session, or a path with a slash")
      ->required()
      ->type_name("NAME");
  DeclareModelOptions(app, options->model);
  DeclareKvCacheOptions(app, options->model.kv_cache);
  DeclareClusterOptions(app, options->cluster);
  CLI::Option* file = app.add_option("--prompt-file", options->prompt_path,
                                     "File with the system message, for a model with a chat "
                                     "template, or else (and with --raw) with a text to continue")
                          ->type_name("FILE");
  CLI::Option* conversation = app.add_option("--conversation", options->conversation_path,
                                             "Conversation that /save NAME.json has written")
                                  ->excludes(file)
                                  ->type_name("FILE");
  app.add_flag("--raw", options->raw, "Take the text as it is, without the chat template")
      ->excludes(conversation);
  app.add_flag("-q,--quiet", options->quiet, "Print nothing");
  app.callback([file, conversation] {
    if (file->empty() && conversation->empty()) {
      throw CLI::RequiredError("--prompt-file or --conversation");
    }
  });
  return [options](Console& console) -> Result<ExitStatus> {
    TRY(options->model.Find());
    return Save(*options, console);
  };
}

}  // namespace aster::cli
