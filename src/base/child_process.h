// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A program that this one starts and that does not outlive it: text into its standard input, lines
// from its standard output, and an end within a stated time. Must not know what it does.
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
  std::vector<int> cpus = {};                // that it may run on; empty: those of this process
  std::optional<std::string> log_path = {};  // its standard error goes here; else where ours goes
  int64_t farewell_ns = 2'000'000'000;       // to end by itself when it is told to
};

// Not for concurrent use. Destroying it ends the child: its standard input is closed, then it is
// asked to end (SIGTERM), then it is killed. Where this process dies without doing that, the system
// kills the child.
class ChildProcess {
 public:
  // The thread that starts a child must live as long as the child is to.
  static Result<ChildProcess> Start(const ChildOptions& options);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  pid_t pid() const { return pid_; }

  Status WriteInput(std::string_view text);
  void CloseInput();
  // The next line of its output, without its end. OutOfRange where the output has ended,
  // DeadlineExceeded where nothing came in time; a line of more than 64 KiB is an error.
  Result<std::string> ReadLine(int64_t timeout_ns);

  // How it ended, in words ("exit status 3", "killed by signal 9"); nothing while it runs.
  std::optional<std::string> Ended();
  // Ends it, as the destructor does.
  void Stop();

 private:
  ChildProcess(pid_t pid, int input, int output, int64_t farewell_ns)
      : pid_(pid), input_(input), output_(output), farewell_ns_(farewell_ns) {}
  bool AwaitEnd(int64_t timeout_ns);

  pid_t pid_ = -1;   // -1 after a move
  int input_ = -1;   // the writing end of its standard input; owned
  int output_ = -1;  // the reading end of its standard output; owned
  int64_t farewell_ns_ = 0;
  std::string read_;  // of its output, and not yet asked for
  std::optional<int> wait_status_;
};

}  // namespace aster
