// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Sessions that are saved on the server's machine. Must not know HTTP, nor how they are kept.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace aster::serve {

// Safe for concurrent use; nothing waits. Each Done is called once, on any thread, with JSON or an
// error.
class SavedSessions {
 public:
  using Done = std::function<void(Result<std::string>)>;

  virtual ~SavedSessions() = default;
  virtual void List(Done done) = 0;
  // With all that was said.
  virtual void Show(std::string name, Done done) = 0;
  // Brings its KV rows into the KV cache of the model that it is of, so that a prompt that goes on
  // with it computes only what is new.
  virtual void Load(std::string name, Done done) = 0;
  virtual void Remove(std::string name, Done done) = 0;
};

}  // namespace aster::serve
