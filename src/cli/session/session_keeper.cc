// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/session/session_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "kv/transfer.h"
#include "model/memory/memory.h"
#include "open/model_identity.h"

namespace aster::cli {
namespace {

constexpr size_t kMaxTextBytes = size_t{256} << 20;
constexpr std::string_view kTextEnding = ".json";

std::string ShortName(const disk::SessionModel& model) {
  return fmt::format("{} ({})", Harmless(model.name), model.fingerprint.ToHex().substr(0, 8));
}

// The number of the transcript's tokens, from the first, in the sequence's KV cache.
uint32_t CachedTokens(const respond::Chat& chat, const respond::Transcript& transcript) {
  const std::vector<int32_t>& computed = chat.sequence().tokens();
  const auto [own, other] = std::ranges::mismatch(computed, transcript.tokens);
  return std::min(static_cast<uint32_t>(own - computed.begin()), chat.sequence().computed());
}

bool LooksLikeText(const std::string& path) {
  const auto start = disk::InputFile::Open(path);
  uint8_t first = 0;
  return start.ok() && start->ReadAt(0, 1, &first).ok() &&
         (first == '{' || first == ' ' || first == '\n');
}

// A chat template renders the messages alone: without any it would leave out a text that has only
// tokens.
Status CheckTemplate(const respond::Chat& chat, const respond::Transcript& transcript,
                     const std::string& path) {
  const bool is_text = transcript.messages.empty() && transcript.system.empty();
  if (!chat.has_template() || !is_text || transcript.tokens.empty()) return Ok();
  return FailedPrecondition(
      path +
      ": a text to continue, not a conversation: run it with --raw, without the chat template");
}

// The command that resumes it may run in another folder.
std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

}  // namespace

Result<disk::SessionFolder> UserSessions(Clock& clock) {
  return disk::SessionFolder(TRY(disk::SessionFolder::DefaultFolder()), clock);
}

size_t CountTurns(std::span<const disk::SessionMessage> messages) {
  return static_cast<size_t>(std::ranges::count(messages, "user", &disk::SessionMessage::role));
}

respond::Transcript TranscriptOf(const disk::Session& session) {
  respond::Transcript transcript{.vocab_size = session.model.vocab_size,
                                 .system = session.system,
                                 .messages = {},
                                 .marked = session.marked,
                                 .tokens = session.tokens};
  for (const disk::SessionMessage& message : session.messages)
    transcript.messages.push_back({message.role, message.content});
  transcript.messages.resize(respond::WholeMessages(transcript.messages));
  return transcript;
}

Result<SessionKeeper> SessionKeeper::Make(const gguf::ModelFiles& files,
                                          const open::ModelOptions& options,
                                          engine::Generator& generator, Clock& clock,
                                          Console& console) {
  const model::Shape& shape = generator.shape();
  const engine::LocalModelOptions engine = TRY(options.ForEngine());
  disk::SessionModel model{.name = open::ModelName(files),
                           .path = AbsolutePath(options.paths.front()),
                           .fingerprint = TRY(open::FingerprintOf(files, console)),
                           .vocab_size = shape.vocab_size,
                           .layout = {},
                           .layout_description = {}};
  kv::Layout layout =
      TRY(model::MakeMemoryLayout(shape, model::Narrowed(engine.memory, shape), model.fingerprint));
  model.layout = layout.digest();
  model.layout_description = layout.Describe(layout.all_layers());
  return SessionKeeper(generator, std::move(model), std::move(layout), TRY(UserSessions(clock)),
                       clock);
}

Result<std::string> SessionKeeper::Save(const std::string& name_or_path, respond::Chat& chat) {
  const respond::Transcript transcript = chat.transcript();
  if (name_or_path.ends_with(kTextEnding) && name_or_path.find('/') != std::string::npos) {
    TRY(WriteFileAtomically(name_or_path, AsBytes(respond::WriteTranscript(transcript))));
    return std::string("Saved the messages.");
  }
  disk::Session session{.model = model_,
                        .saved_ns = clock_.WallNs(),
                        .system = transcript.system,
                        .messages = {},
                        .marked = transcript.marked,
                        .tokens = transcript.tokens,
                        .pages = {}};
  for (const chat::Message& message : transcript.messages) {
    session.messages.push_back({message.role, message.content});
  }
  const uint32_t end = CachedTokens(chat, transcript);
  std::string without;
  TRY(folder_.Save(name_or_path, session, layout_, [&](kv::KvChunkSink sink) -> Status {
    if (end == 0) return Ok();
    Status exported = generator_.ExportRows(chat.sequence(), 0, end, sink);
    // The text is worth saving in any case.
    if (exported.ok() || exported.error().code() != Code::kUnimplemented) return exported;
    without = exported.error().message();
    return Ok();
  }));
  std::string said = fmt::format("Saved: {} tokens, {} of them with their KV rows.",
                                 transcript.tokens.size(), without.empty() ? end : 0);
  if (!without.empty()) said += fmt::format(" ({})", without);
  return said;
}

// Reads the format of /save from before there were sessions, and of files that end with .json.
Result<LoadedSession> SessionKeeper::LoadText(const std::string& path, respond::Chat& chat) {
  const std::string text = TRY(ReadFile(path, kMaxTextBytes));
  respond::Transcript transcript = TRY(respond::ReadTranscript(text, model_.vocab_size).In(path));
  TRY(CheckTemplate(chat, transcript, path));
  chat.Restore(std::move(transcript));
  return LoadedSession{.said = "Loaded the messages.", .damage = ""};
}

Status SessionKeeper::CheckModel(const disk::OpenSession& open, bool text_alone) const {
  const disk::SessionModel& other = open.session.model;
  if (other.vocab_size != model_.vocab_size) {
    return InvalidArgument(
        fmt::format("{}: a session of {}, and this is {}: their vocabularies differ", open.path,
                    ShortName(other), ShortName(model_)));
  }
  if (other.fingerprint != model_.fingerprint && !text_alone) {
    return FailedPrecondition(
        fmt::format("{}: a session of {}, and this is {}: a KV cache is of one model; load the "
                    "text alone (--text), or run it with its own model",
                    open.path, ShortName(other), ShortName(model_)));
  }
  for (const int32_t token : open.session.tokens) {
    if (token < 0 || static_cast<uint32_t>(token) >= model_.vocab_size) {
      return DataLoss(open.path + ": a token that this model does not have");
    }
  }
  return Ok();
}

Result<LoadedSession> SessionKeeper::Load(const std::string& name_or_path, respond::Chat& chat,
                                          bool text_alone) {
  const std::string path = TRY(folder_.PathOf(name_or_path));
  if (LooksLikeText(path)) return LoadText(path, chat);
  const disk::OpenSession open = TRY(folder_.Open(name_or_path));
  TRY(CheckModel(open, text_alone));
  respond::Transcript transcript = TranscriptOf(open.session);
  const size_t turns =
      CountTurns(std::span(open.session.messages).first(transcript.messages.size()));
  const std::string count = fmt::format("{} turn{}", turns, turns == 1 ? "" : "s");
  LoadedSession loaded{.said = fmt::format("Loaded: {}", count), .damage = ""};
  if (!open.has_tokens) {
    // A text without its tokens needs a chat template, which renders its messages.
    const bool has_something = turns > 0 || !transcript.system.empty();
    if (!has_something || !chat.has_template()) return *open.damage;
    chat.Restore(std::move(transcript));
    const std::string what = open.has_messages
                                 ? std::string("the whole text is there, and is computed again")
                                 : fmt::format("the first {} {} there, and what followed is lost",
                                               count, turns == 1 ? "is" : "are");
    loaded.damage = fmt::format("{}: {}", what, open.damage->message());
    loaded.said += ".";
    return loaded;
  }
  TRY(CheckTemplate(chat, transcript, path));
  loaded.said += fmt::format(", {} tokens", transcript.tokens.size());
  const disk::SessionModel& other = open.session.model;
  const bool is_own = other.fingerprint == model_.fingerprint;
  // As many tokens need not be the same ones: the chat template renders the messages again.
  if (!is_own && chat.has_template()) {
    transcript.marked.clear();
    transcript.tokens.clear();
  }
  chat.Restore(std::move(transcript));
  if (is_own) {
    LoadRows(open, chat, loaded);
  } else {
    loaded.said +=
        fmt::format("; of {}, so {} computes them again", ShortName(other), ShortName(model_));
  }
  loaded.said += ".";
  return loaded;
}

// Rows that cannot be loaded are computed again, so nothing here is an error.
void SessionKeeper::LoadRows(const disk::OpenSession& open, respond::Chat& chat,
                             LoadedSession& loaded) {
  constexpr std::string_view kAgain = "the rest is computed again";
  std::string why;
  if (open.session.model.layout != layout_.digest()) {
    why = fmt::format("their KV rows are {}, and here they are {}",
                      Harmless(open.session.model.layout_description), model_.layout_description);
  } else {
    const Status rows = folder_.LoadRows(
        open, layout_, [&](Bytes chunk) { return generator_.ImportRows(chat.sequence(), chunk); });
    if (!rows.ok()) loaded.damage = fmt::format("{}: {}", kAgain, rows.error().message());
  }
  const uint32_t computed = chat.sequence().computed();
  if (open.damage) {
    const bool is_all = computed + 1 >= open.session.tokens.size();
    loaded.damage =
        fmt::format("{}: {}", is_all ? "all messages are there" : kAgain, open.damage->message());
  }
  loaded.said += fmt::format(", {} of them cached", computed);
  if (!why.empty()) loaded.said += fmt::format("; {}: {}", kAgain, why);
}

}  // namespace aster::cli
