// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include "base/check.h"
#include "base/clock.h"

namespace aster {
namespace {

constexpr size_t kMaxLineBytes = 64 << 10;
constexpr int kCannotStart = 127;  // as in shells

struct Pipe {
  int reading = -1;
  int writing = -1;

  ~Pipe() {
    if (reading >= 0) close(reading);
    if (writing >= 0) close(writing);
  }
  Status Open() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return SystemError(errno, "a pipe");
    reading = ends[0];
    writing = ends[1];
    return Ok();
  }
};

// In the child, between fork and exec: nothing here may allocate or lock.
[[noreturn]] void Become(char* const* arguments, const Pipe& input, const Pipe& output, int log,
                         const cpu_set_t* cpus, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotStart);  // tidy: allow(stopping) a child after fork
  if (cpus != nullptr) sched_setaffinity(0, sizeof(*cpus), cpus);
  dup2(input.reading, STDIN_FILENO);
  dup2(output.writing, STDOUT_FILENO);
  if (log >= 0) dup2(log, STDERR_FILENO);
  std::signal(SIGPIPE, SIG_DFL);
  // Ctrl-C at the terminal reaches only the process that started it, which then decides.
  setpgid(0, 0);
  execv(arguments[0], arguments);
  _exit(kCannotStart);  // tidy: allow(stopping) a child after fork
}

}  // namespace

Result<ChildProcess> ChildProcess::Start(const ChildOptions& options) {
  CHECK(!options.command.empty());
  if (access(options.command.front().c_str(), X_OK) != 0) {
    return SystemError(errno, options.command.front());
  }
  Pipe input;
  Pipe output;
  TRY(input.Open());
  TRY(output.Open());
  int log = -1;
  if (options.log_path) {
    log = open(options.log_path->c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0) return SystemError(errno, *options.log_path);
  }
  // All memory that the child needs is allocated before the fork.
  std::vector<std::string> words = options.command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (const int cpu : options.cpus) CPU_SET(static_cast<size_t>(cpu), &cpus);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  const int error = errno;
  if (pid == 0) {
    Become(arguments.data(), input, output, log, options.cpus.empty() ? nullptr : &cpus, parent);
  }
  if (log >= 0) close(log);
  if (pid < 0) return SystemError(error, options.command.front());
  return ChildProcess(pid, std::exchange(input.writing, -1), std::exchange(output.reading, -1),
                      options.exit_grace_ns);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      exit_grace_ns_(other.exit_grace_ns_),
      read_(std::move(other.read_)),
      wait_status_(other.wait_status_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this == &other) return *this;
  Stop();
  pid_ = std::exchange(other.pid_, -1);
  input_ = std::exchange(other.input_, -1);
  output_ = std::exchange(other.output_, -1);
  exit_grace_ns_ = other.exit_grace_ns_;
  read_ = std::move(other.read_);
  wait_status_ = other.wait_status_;
  return *this;
}

ChildProcess::~ChildProcess() { Stop(); }

Status ChildProcess::WriteInput(std::string_view text) {
  // Writing to a dead child is an error here, not a signal.
  struct sigaction ignore = {};
  struct sigaction before = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  Status written = Ok();
  while (!text.empty() && written.ok()) {
    const ssize_t count = write(input_, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<size_t>(count));
    } else if (errno != EINTR) {
      written = SystemError(errno, "the standard input of a started program");
    }
  }
  sigaction(SIGPIPE, &before, nullptr);
  return written;
}

void ChildProcess::CloseInput() {
  if (input_ >= 0) close(std::exchange(input_, -1));
}

Result<std::string> ChildProcess::ReadLine(int64_t timeout_ns) {
  const SystemClock clock;
  const int64_t deadline_ns = clock.NowNs() + timeout_ns;
  while (true) {
    if (const size_t end = read_.find('\n'); end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    if (read_.size() > kMaxLineBytes) {
      return Error(Code::kDataLoss, "a started program writes a line without end");
    }
    const int64_t left_ns = std::max<int64_t>(deadline_ns - clock.NowNs(), 0);
    pollfd waiting{.fd = output_, .events = POLLIN, .revents = 0};
    const int ready = poll(&waiting, 1, static_cast<int>((left_ns + 999'999) / 1'000'000));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      return Error(Code::kDeadlineExceeded, "a started program writes nothing");
    }
    std::array<char, 4096> piece;
    const ssize_t count = read(output_, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return OutOfRange("a started program has closed its output");
    read_.append(piece.data(), static_cast<size_t>(count));
  }
}

std::optional<std::string> ChildProcess::Ended() {
  if (!wait_status_ && !AwaitEnd(0)) return std::nullopt;
  const int status = *wait_status_;
  if (WIFSIGNALED(status)) return fmt::format("killed by signal {}", WTERMSIG(status));
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

// Whether it has ended within the time.
bool ChildProcess::AwaitEnd(int64_t timeout_ns) {
  constexpr timespec kLook = {.tv_sec = 0, .tv_nsec = 2'000'000};
  const SystemClock clock;
  const int64_t deadline_ns = clock.NowNs() + timeout_ns;
  while (true) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      wait_status_ = status;
      return true;
    }
    if (clock.NowNs() >= deadline_ns) return false;
    nanosleep(&kLook, nullptr);  // tidy: allow(time) another process ends in real time
  }
}

void ChildProcess::Stop() {
  if (pid_ < 0) return;
  CloseInput();
  if (!wait_status_ && !AwaitEnd(exit_grace_ns_ / 2)) {
    kill(pid_, SIGTERM);
    if (!AwaitEnd(exit_grace_ns_ / 2)) {
      kill(pid_, SIGKILL);
      AwaitEnd(exit_grace_ns_);
    }
  }
  if (output_ >= 0) close(std::exchange(output_, -1));
  pid_ = -1;
}

}  // namespace aster
