// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Shows, loads and removes the user's sessions for the server's API, as `aster session` does on the
// command line. Must not know HTTP, nor who may ask.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "cli/serve/work_thread.h"
#include "disk/session_folder.h"
#include "engine/generator.h"
#include "kv/layout.h"
#include "open/model_options.h"
#include "serve/answer_loop.h"
#include "serve/saved_sessions.h"

namespace aster::cli {

// Safe for concurrent use.
class SessionWorker final : public serve::SavedSessions {
 public:
  // A served model, whose sessions can be loaded.
  struct Model {
    std::string name;
    Hash128 fingerprint;
    kv::Layout layout;
    // Both outlive the worker; the loop's thread is the generator's.
    engine::Generator* generator;
    serve::AnswerLoop* loop;
  };
  // Its generator must be identified by the fingerprint (OpenOptions::is_kept).
  static Result<Model> ModelOf(std::string name, const Hash128& fingerprint,
                               const open::ModelOptions& options, engine::Generator& generator,
                               serve::AnswerLoop& loop);

  explicit SessionWorker(std::vector<Model> models)
      : models_(std::move(models)), thread_("requests for sessions") {}

  // Waits for accepted work, and refuses all other.
  void Stop() { thread_.Stop(); }

  void List(Done done) override;
  void Show(std::string name, Done done) override;
  void Load(std::string name, Done done) override;
  void Remove(std::string name, Done done) override;

 private:
  const Model* FindModel(const Hash128& fingerprint) const;
  nlohmann::ordered_json ForClients(nlohmann::ordered_json json,
                                    const disk::Session& session) const;
  Result<std::string> ListNow() const;
  Result<std::string> ShowNow(const std::string& name) const;
  Result<std::string> LoadNow(const std::string& name) const;

  const std::vector<Model> models_;
  WorkThread thread_;
};

}  // namespace aster::cli
