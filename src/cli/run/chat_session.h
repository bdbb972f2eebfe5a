// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A conversation at a terminal: what is typed, the commands that begin with a slash, answers as
// they are made, Ctrl-C. Must not know options or how a model is loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cli/terminal/console.h"
#include "respond/dialogue.h"

namespace aster::cli {

// Keeps the conversation under a name, or goes on from one; what is to be said of it.
using ChatKeeper = std::function<Result<std::string>(const std::string& name)>;

struct ChatSessionOptions {
  std::string model;  // a line about it
  std::string tools;  // that it may call, a line for each; empty: none
  uint32_t vocab_size = 0;
  std::string history_path;  // of what was typed; empty: not kept
  bool quiet = false;        // no rates at the end
  bool shows_parts = false;  // ReplyPrinter's
  std::function<void(const std::string& question)> before_turn = nullptr;
  std::function<void()> tell_more = nullptr;  // behind each answer
  ChatKeeper save;
  ChatKeeper load;
};

// Until the person leaves. An error is the console's; those of answers are shown and gone on from.
Status RunChatSession(respond::Dialogue& chat, const Clock& clock,
                      const ChatSessionOptions& options, Console& console);

}  // namespace aster::cli
