// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A child program that does not outlive this one: text into its standard input, lines from its
// standard output, and an end within a stated time. Must not know what it does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace aster {

struct ChildOptions {
  std::vector<std::string> command;          // the program's path, then its arguments
  std::vector<int> cpus = {};                // that it may use; empty: those of this process
  std::optional<std::string> log_path = {};  // for its standard error; nullopt: inherited
  int64_t exit_grace_ns = 2'000'000'000;     // to end by itself after the request
};

// Not for concurrent use. The destructor ends the child: it closes its standard input, then asks it
// to end (SIGTERM), then kills it. If this process dies before that, the system kills the child.
class ChildProcess {
 public:
  // The thread that starts a child must live as long as the child.
  static Result<ChildProcess> Start(const ChildOptions& options);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  pid_t pid() const { return pid_; }

  Status WriteInput(std::string_view text);
  void CloseInput();
  // The next line of its output, without its end. OutOfRange if the output has ended,
  // DeadlineExceeded if nothing came in time; a line of more than 64 KiB is an error.
  Result<std::string> ReadLine(int64_t timeout_ns);

  // How it ended, in words ("exit status 3", "killed by signal 9"); nullopt while it runs.
  std::optional<std::string> Ended();
  // Ends it, as the destructor does.
  void Stop();

 private:
  ChildProcess(pid_t pid, int input, int output, int64_t exit_grace_ns)
      : pid_(pid), input_(input), output_(output), exit_grace_ns_(exit_grace_ns) {}
  bool AwaitEnd(int64_t timeout_ns);

  pid_t pid_ = -1;   // -1 after a move
  int input_ = -1;   // the write end of its standard input; owned
  int output_ = -1;  // the read end of its standard output; owned
  int64_t exit_grace_ns_ = 0;
  std::string read_;  // of its output, not returned yet
  std::optional<int> wait_status_;
};

}  // namespace aster
