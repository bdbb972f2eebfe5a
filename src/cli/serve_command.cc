// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster serve: a model behind the HTTP dialects that people's tools speak.
#include <fmt/format.h>
#include <pthread.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/files.h"
#include "cli/answerer.h"
#include "cli/commands.h"
#include "cli/model_text.h"
#include "cli/sampling_options.h"
#include "cli/serve_options.h"
#include "serve/http_server.h"
#include "serve/service.h"

namespace aster::cli {
namespace {

// Ctrl-C and whoever ends services. Blocked in all threads, and waited for by one of its own.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, &earlier_);
  }
  ~EndSignals() {
    StopAwaiting();
    pthread_sigmask(SIG_SETMASK, &earlier_, nullptr);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  // Nobody is called any more.
  void StopAwaiting() {
    if (!waiter_.joinable()) return;
    // It waits for a signal, whoever sends it.
    is_over_ = true;
    pthread_kill(waiter_.native_handle(), SIGTERM);
    waiter_.join();
  }

  // `end` is called by another thread, with true where it is not the first time.
  void Await(std::function<void(bool)> end) {
    waiter_ = std::thread([this, end = std::move(end)] {
      int signal = 0;
      for (bool again = false; sigwait(&signals_, &signal) == 0 && !is_over_; again = true)
        end(again);
    });
  }

 private:
  sigset_t signals_ = {};
  sigset_t earlier_ = {};
  std::atomic<bool> is_over_ = false;
  std::thread waiter_;
};

// What requests are answered with, ready.
struct Served {
  std::unique_ptr<text::Tokenizer> tokenizer;
  std::optional<chat::ChatPrompt> prompt;
  std::unique_ptr<Answerer> answerer;
  serve::ServiceOptions service;
};

Result<Served> Load(const ServeOptions& options, const gguf::ModelFiles& files, const Clock& clock,
                    Console& console) {
  Served served;
  const model::Shape shape = TRY(model::ReadShape(files.metadata()));
  served.tokenizer = TRY(LoadTokenizer(files, options.model.paths.front(), console));
  served.prompt = TRY(chat::ChatPrompt::Make(files.metadata(), *served.tokenizer));
  served.service.defaults.sampling = TRY(options.sampling.ForEngine(shape.vocab_size, 0));
  served.service.defaults.vocab_size = shape.vocab_size;
  if (options.max_tokens > 0) served.service.defaults.max_tokens = options.max_tokens;
  served.service.model = options.name.empty()
                             ? std::filesystem::path(options.model.paths.front()).stem().string()
                             : options.name;
  served.service.aliases = options.aliases;
  served.service.keys = TRY(options.Keys());
  served.service.cors_origin = options.cors;
  served.service.created_s = clock.WallNs() / kNsPerSecond;
  served.service.version = ASTER_VERSION;
  // Batches are small enough that whoever goes away is noticed soon.
  served.answerer = TRY(OpenAnswerer(files, served.tokenizer.get(), clock,
                                     {.model = &options.model,
                                      .cluster = &options.cluster,
                                      .batch_tokens = 256,
                                      .max_running = options.parallel,
                                      .is_kept = false},
                                     console));
  return served;
}

Result<ExitStatus> Serve(const ServeOptions& options, const gguf::ModelFiles& files,
                         Console& console) {
  const SystemClock clock;
  EndSignals signals;
  Served served = TRY(Load(options, files, clock, console));
  engine::Answering& answering = served.answerer->answering();
  serve::AnswerLoop loop(answering, clock,
                         {.max_queued = options.queue, .max_running = options.parallel});
  serve::Metrics metrics;
  const uint32_t trained = answering.shape().context_length;
  const serve::AnswerContext context = {
      .prompt = &*served.prompt,
      .dialect = served.prompt->FindDialect(),
      .tokens =
          std::make_shared<grammar::TokenTree>(*served.tokenizer, answering.shape().vocab_size),
      .loop = &loop,
      .metrics = &metrics,
      .clock = &clock,
      .context_limit = options.context == 0 ? trained : std::min(options.context, trained),
      .deadline_ns = static_cast<int64_t>(options.deadline_s) * kNsPerSecond,
      .logs_prompts = options.log_prompts};
  const std::string served_name = served.service.model;
  serve::HttpServer* http = nullptr;
  serve::Service service(std::move(served.service), context,
                         [&http] { return http == nullptr ? 0 : http->connection_count(); });
  serve::HttpServerOptions http_options;
  http_options.listen = options.Listen();
  http_options.limits.body_bytes = TRY(options.BodyBytes());
  http_options.headers = serve::Service::HeadersFor(options.cors);
  http_options.takes_body = [&](const serve::HttpRequest& head) { return service.TakesBody(head); };
  http_options.describe = serve::Service::Describe;
  serve::HttpServer server(
      http_options, clock,
      [&](serve::HttpRequest request, std::shared_ptr<serve::ReplyStream> stream) {
        service.Handle(std::move(request), std::move(stream));
      });
  http = &server;
  TRY(server.Start());
  console.Print("{} is served at http://{}\n", served_name, server.address());
  TRY(console.Flush());
  signals.Await([&](bool again) {
    // No new requests; what is being answered comes to its end, unless somebody is impatient.
    server.StopListening();
    loop.Stop(again ? 0 : static_cast<int64_t>(options.grace_s) * kNsPerSecond);
  });
  loop.Run();
  // What was answered last is on its way.
  const int64_t end_ns = clock.NowNs() + 2 * kNsPerSecond;
  SystemClock waiting;
  while (server.busy_count() > 0 && clock.NowNs() < end_ns) waiting.SleepFor(10 * kNsPerMs);
  signals.StopAwaiting();
  TRY(served.answerer->Save());
  console.Note("goodbye");
  return kExitOk;
}

}  // namespace

namespace {

// As --config takes them: what is given, and defaults as comments.
std::string DescribeOptions(CLI::App& app) {
  const std::string given = "\n" + app.config_to_str(/*default_also=*/false);
  for (CLI::Option* option : app.get_options()) option->capture_default_str();
  const std::string all = app.config_to_str(/*default_also=*/true);
  std::string lines;
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find('\n', begin), all.size());
    const std::string_view line = std::string_view(all).substr(begin, end - begin);
    begin = end + 1;
    const bool is_empty = line.empty() || line.ends_with("=\"\"") || line.ends_with("=\"[]\"");
    const bool is_given = given.find(fmt::format("\n{}\n", line)) != std::string::npos;
    if (!is_empty) lines += fmt::format("{}{}\n", is_given ? "" : "# ", line);
  }
  return lines;
}

}  // namespace

Run DeclareServe(CLI::App& app) {
  auto options = std::make_shared<ServeOptions>();
  options->Declare(app);
  return [options, &app](Console& console) -> Result<ExitStatus> {
    if (options->print_config) {
      console.Print("[serve]\n{}", DescribeOptions(app));
      return kExitOk;
    }
    TRY(options->Check());
    TRY(options->model.Find());
    const gguf::ModelFiles files = TRY(gguf::ModelFiles::Open(options->model.paths));
    return Serve(*options, files, console);
  };
}

}  // namespace aster::cli
