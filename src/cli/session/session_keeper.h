// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Keeps a conversation with its KV cache, and goes on from there: with the same model nothing is
// computed again, with another one of the same vocabulary the text is. Must not know how answers
// are made or shown.
#pragma once

#include <functional>
#include <optional>
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

// What a session is found by: a name in the user's folder, or a path.
Result<disk::SessionFolder> UserSessions(Clock& clock);

// What there is to say of a session that was loaded.
struct LoadedSession {
  std::string said;
  std::string damage;  // what is lost, and why; nothing where all of it is there
};

// Belongs to the thread that computes; files, generator and clock outlive it.
class SessionKeeper {
 public:
  // The generator must go by the model's fingerprint (LoadFor::is_kept).
  static Result<SessionKeeper> Make(const gguf::ModelFiles& files,
                                    const open::ModelOptions& options, engine::Generator& generator,
                                    Clock& clock, Console& console);

  // Says what was kept. A path that ends with .json gets what was said alone, as text.
  Result<std::string> Save(const std::string& name_or_path, respond::Chat& chat);
  // Says how much of it need not be computed again, and why not more. An error leaves the
  // conversation as it was: where nothing that was said can be read, too. With another model: an
  // error that names both, unless the text alone is wanted.
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
  // An error where it was held with another model that cannot go on from it.
  Status CheckModel(const disk::OpenSession& open, bool text_alone) const;
  void LoadRows(const disk::OpenSession& open, respond::Chat& chat, LoadedSession& loaded);

  engine::Generator& generator_;
  disk::SessionModel model_;
  kv::Layout layout_;
  disk::SessionFolder folder_;
  Clock& clock_;
};

// What of a session is a conversation: turns that are whole.
respond::Transcript TranscriptOf(const disk::Session& session);

}  // namespace aster::cli
