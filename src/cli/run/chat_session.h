// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A conversation at a terminal: typed text, the commands that begin with a slash, answers while
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

// Saves the conversation under a name, or loads one; returns a message for the user.
using ChatKeeper = std::function<Result<std::string>(const std::string& name)>;

struct ChatSessionOptions {
  std::string model;  // one line about it
  std::string tools;  // that it may call, one line each; empty: none
  uint32_t vocab_size = 0;
  std::string history_path;       // of typed entries; empty: none
  bool has_vocabularies = false;  // several, so that no setting may name a token
  bool quiet = false;             // prints no rates at the end
  bool shows_parts = false;       // ReplyPrinter's
  std::function<void(const std::string& question)> before_turn = nullptr;
  std::function<void()> tell_more = nullptr;  // called after each answer
  ChatKeeper save;
  ChatKeeper load;
};

// Runs until the user leaves. Returns only errors of the console; those of answers are shown.
Status RunChatSession(respond::Dialogue& chat, const Clock& clock,
                      const ChatSessionOptions& options, Console& console);

}  // namespace aster::cli
