// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Shows and removes the user's sessions where the server's API asks for it, as `aster session` does
// on the command line. Must not know HTTP, nor who may ask.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "cli/serve/work_thread.h"
#include "serve/saved_sessions.h"

namespace aster::cli {

// Safe for concurrent use.
class SessionDesk final : public serve::SavedSessions {
 public:
  // Names of the models that are served, by their fingerprints.
  using ServedNames = std::map<std::string, std::string>;

  explicit SessionDesk(ServedNames served)
      : served_(std::move(served)), thread_("requests for sessions") {}

  // Waits for the work that was taken, and refuses all other.
  void Stop() { thread_.Stop(); }

  void List(Done done) override;
  void Show(std::string name, Done done) override;
  void Remove(std::string name, Done done) override;

 private:
  Result<std::string> ListNow() const;
  Result<std::string> ShowNow(const std::string& name) const;

  const ServedNames served_;
  WorkThread thread_;
};

}  // namespace aster::cli
