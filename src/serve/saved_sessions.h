// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Sessions saved on the server's machine. Must not know HTTP, nor how they are stored.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace aster::serve {

// Safe for concurrent use; nothing blocks. Each Done is called once, on any thread, with JSON or an
// error.
class SavedSessions {
 public:
  using Done = std::function<void(Result<std::string>)>;

  virtual ~SavedSessions() = default;
  virtual void List(Done done) = 0;
  // With the whole conversation.
  virtual void Show(std::string name, Done done) = 0;
  // Loads its KV rows into the KV cache of its model, so that a prompt that continues it computes
  // only the new tokens.
  virtual void Load(std::string name, Done done) = 0;
  virtual void Remove(std::string name, Done done) = 0;
};

}  // namespace aster::serve
