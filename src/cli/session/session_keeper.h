// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Saves a conversation with its KV cache, and resumes it: with the same model nothing is computed
// again, with another one of the same vocabulary the text is. Must not know how answers are made or
// shown.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "cli/terminal/console.h"
#include "disk/session_folder.h"
#include "engine/generator.h"
#include "gguf/model_files.h"
#include "kv/layout.h"
#include "open/model_options.h"
#include "respond/chat.h"

namespace aster::cli {

// Finds a session by a name in the user's folder, or by a path.
Result<disk::SessionFolder> UserSessions(Clock& clock);

// The report about a loaded session.
struct LoadedSession {
  std::string said;
  std::string damage;  // what is lost, and why; empty if it is complete
};

// Belongs to the thread that computes; files, generator and clock outlive it.
class SessionKeeper {
 public:
  // The generator must be identified by the model's fingerprint (LoadFor::is_kept).
  static Result<SessionKeeper> Make(const gguf::ModelFiles& files,
                                    const open::ModelOptions& options, engine::Generator& generator,
                                    Clock& clock, Console& console);

  // Returns what was saved. A path that ends with .json gets only the text.
  Result<std::string> Save(const std::string& name_or_path, respond::Chat& chat);
  // Returns how much of it need not be computed again, and why not more. An error leaves the
  // conversation as it was, also if no message can be read. With another model: an error that names
  // both, unless only the text is wanted.
  Result<LoadedSession> Load(const std::string& name_or_path, respond::Chat& chat, bool text_alone);

 private:
  SessionKeeper(engine::Generator& generator, disk::SessionModel model, kv::Layout layout,
                disk::SessionFolder folder, Clock& clock)
      : generator_(generator),
        model_(std::move(model)),
        layout_(std::move(layout)),
        folder_(std::move(folder)),
        clock_(clock) {}

  Result<LoadedSession> LoadText(const std::string& path, respond::Chat& chat);
  // An error if it was held with another model and this one cannot continue it.
  Status CheckModel(const disk::OpenSession& open, bool text_alone) const;
  void LoadRows(const disk::OpenSession& open, respond::Chat& chat, LoadedSession& loaded);

  engine::Generator& generator_;
  disk::SessionModel model_;
  kv::Layout layout_;
  disk::SessionFolder folder_;
  Clock& clock_;
};

// A turn is a question with all that follows it: an answer, or calls, their results and an answer.
size_t CountTurns(std::span<const disk::SessionMessage> messages);

// The conversation of a session: complete turns.
respond::Transcript TranscriptOf(const disk::Session& session);

}  // namespace aster::cli
