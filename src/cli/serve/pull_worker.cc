// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/serve/pull_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "open/builtin_models.h"
#include "pull/http.h"
#include "pull/library.h"
#include "pull/pull.h"

namespace aster::cli {
namespace {

constexpr size_t kMaxWaitingPulls = 16;

// A system clock whose sleeps end early on cancellation.
class CancellableClock final : public SystemClock {
 public:
  explicit CancellableClock(std::function<bool()> is_cancelled)
      : is_cancelled_(std::move(is_cancelled)) {}

  void SleepUntil(int64_t deadline_ns) override {
    constexpr int64_t kLookNs = 100 * kNsPerMs;
    while (NowNs() < deadline_ns && !is_cancelled_())
      SystemClock::SleepUntil(std::min(deadline_ns, NowNs() + kLookNs));
  }

 private:
  const std::function<bool()> is_cancelled_;
};

// Ollama's programs write hub names as addresses without "https://".
std::string AsSource(const std::string& written) {
  for (const std::string_view host : {"hf.co/", "huggingface.co/"}) {
    if (written.starts_with(host)) return "hf:" + written.substr(host.size());
  }
  return written;
}

std::string HowToServe(const std::string& name) {
  return fmt::format("{0} is on the server's machine; aster serve {0} serves it", name);
}

}  // namespace

PullWorker::PullWorker() : thread_([this] { Run(); }) {}

PullWorker::~PullWorker() { Stop(); }

void PullWorker::Stop() {
  {
    const MutexLock lock(mu_);
    is_ending_ = true;
  }
  changed_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

void PullWorker::Pull(std::string source, Listener listener) {
  Error why = ResourceExhausted("too many pulls are waiting; try again later");
  {
    const MutexLock lock(mu_);
    if (queue_.size() < kMaxWaitingPulls && !is_ending_) {
      queue_.push_back({std::move(source), std::move(listener)});
      changed_.NotifyAll();
      return;
    }
    if (is_ending_) why = Error(Code::kUnavailable, "the server is shutting down");
  }
  listener.on_end(why);
}

void PullWorker::Run() {
  for (;;) {
    QueuedPull queued;
    {
      const MutexLock lock(mu_);
      while (queue_.empty() && !is_ending_) changed_.Wait(mu_);
      if (queue_.empty()) return;
      queued = std::move(queue_.front());
      queue_.pop_front();
    }
    const Result<std::string> advice = PullNow(queued);
    log::Info("pull ended", {{"ok", advice.ok()}});
    queued.listener.on_end(advice);
  }
}

Result<std::string> PullWorker::PullNow(const QueuedPull& queued) const {
  const auto is_cancelled = [this, &queued] { return is_ending_ || queued.listener.is_gone(); };
  if (is_cancelled()) return Error(Code::kUnavailable, "the pull was ended");
  const std::string folder = TRY(pull::LibraryFolder());
  // Existing models have a name that is not a source.
  if (std::ranges::find(open::BuiltinModels(), queued.source) != open::BuiltinModels().end())
    return HowToServe(queued.source);
  if (const auto here = pull::FindInLibrary(folder, queued.source); here.ok())
    return HowToServe(here->name);
  const pull::Source source = TRY(pull::ParseSource(AsSource(queued.source)));

  CancellableClock clock(is_cancelled);
  const auto http = pull::MakeHttpClient(is_cancelled);
  pull::PullOptions options;
  options.folder = folder;
  options.hub = TRY(pull::Hub::FromEnvironment(/*token_path=*/""));
  options.on_note = queued.listener.on_note;
  options.on_progress = [&queued](const pull::RemoteFile& file, uint64_t done, uint64_t total) {
    queued.listener.on_progress(
        {.file = file.name,
         .digest = file.sha256.empty() ? file.name : "sha256:" + file.sha256,
         .done_bytes = done,
         .total_bytes = total});
  };
  const pull::Pulled pulled = TRY(pull::Pull(*http, source, clock, options));
  const std::string file = std::filesystem::path(pulled.paths.front()).filename().string();
  return HowToServe(TRY(pull::FindInLibrary(folder, file)).name);
}

}  // namespace aster::cli
