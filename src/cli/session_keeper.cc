// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/session_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "cli/conversation.h"
#include "cli/model_identity.h"
#include "kv/transfer.h"
#include "model/memory.h"

namespace aster::cli {
namespace {

constexpr size_t kMaxTextBytes = size_t{256} << 20;
constexpr std::string_view kTextEnding = ".json";

std::string ShortName(const disk::SessionModel& model) {
  return fmt::format("{} ({})", Harmless(model.name), model.fingerprint.ToHex().substr(0, 8));
}

// How many tokens, from the first, the sequence remembers of the conversation.
uint32_t Remembered(const Chat& chat, const Conversation& conversation) {
  const std::vector<int32_t>& computed = chat.sequence().tokens();
  const auto [own, other] = std::ranges::mismatch(computed, conversation.tokens);
  return std::min(static_cast<uint32_t>(own - computed.begin()), chat.sequence().computed());
}

bool LooksLikeText(const std::string& path) {
  const auto start = disk::InputFile::Open(path);
  uint8_t first = 0;
  return start.ok() && start->ReadAt(0, 1, &first).ok() &&
         (first == '{' || first == ' ' || first == '\n');
}

}  // namespace

std::string Harmless(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte >= ' ' && byte != 0x7f) || c == '\n' || c == '\t') shown.push_back(c);
  }
  return shown;
}

Result<disk::SessionFolder> UserSessions(Clock& clock) {
  return disk::SessionFolder(TRY(disk::SessionFolder::DefaultFolder()), clock);
}

Conversation ConversationOf(const disk::Session& session) {
  Conversation conversation{.vocab_size = session.model.vocab_size,
                            .system = session.system,
                            .messages = {},
                            .marked = session.marked,
                            .tokens = session.tokens};
  for (const disk::SessionMessage& message : session.messages) {
    const char* expected = conversation.messages.size() % 2 == 0 ? "user" : "assistant";
    if (message.role != expected) break;
    conversation.messages.push_back({message.role, message.content});
  }
  if (conversation.messages.size() % 2 != 0) conversation.messages.pop_back();
  return conversation;
}

Result<SessionKeeper> SessionKeeper::Make(const gguf::ModelFiles& files,
                                          const ModelOptions& options, engine::Answering& answering,
                                          Clock& clock, Console& console) {
  const model::Shape& shape = answering.shape();
  const engine::LocalModelOptions engine = TRY(options.ForEngine());
  disk::SessionModel model{.name = ModelName(files),
                           .path = options.paths.front(),
                           .fingerprint = TRY(FingerprintOf(files, console)),
                           .vocab_size = shape.vocab_size,
                           .layout = {},
                           .layout_description = {}};
  kv::Layout layout =
      TRY(model::MakeMemoryLayout(shape, model::Narrowed(engine.memory, shape), model.fingerprint));
  model.layout = layout.digest();
  model.layout_description = layout.Describe(layout.all_layers());
  return SessionKeeper(answering, std::move(model), std::move(layout), TRY(UserSessions(clock)),
                       clock);
}

Result<std::string> SessionKeeper::Save(const std::string& name_or_path, Chat& chat) {
  const Conversation conversation = chat.conversation();
  if (name_or_path.ends_with(kTextEnding) && name_or_path.find('/') != std::string::npos) {
    TRY(WriteFileAtomically(name_or_path, AsBytes(WriteConversation(conversation))));
    return std::string("Saved what was said.");
  }
  disk::Session session{.model = model_,
                        .saved_ns = clock_.WallNs(),
                        .system = conversation.system,
                        .messages = {},
                        .marked = conversation.marked,
                        .tokens = conversation.tokens,
                        .pages = {}};
  for (const Message& message : conversation.messages) {
    session.messages.push_back({message.role, message.content});
  }
  const uint32_t end = Remembered(chat, conversation);
  std::string without;
  TRY(folder_.Save(name_or_path, session, layout_, [&](kv::ParcelSink sink) -> Status {
    if (end == 0) return Ok();
    Status exported = answering_.ExportRows(chat.sequence(), 0, end, sink);
    // The text is worth keeping in any case.
    if (exported.ok() || exported.error().code() != Code::kUnimplemented) return exported;
    without = exported.error().message();
    return Ok();
  }));
  std::string said = fmt::format("Saved: {} tokens, {} of them with what is remembered of them.",
                                 conversation.tokens.size(), without.empty() ? end : 0);
  if (!without.empty()) said += fmt::format(" ({})", without);
  return said;
}

// As /save wrote it before there were sessions, and as it writes files that end with .json.
Result<std::string> SessionKeeper::LoadText(const std::string& path, Chat& chat) {
  const std::string text = TRY(ReadFile(path, kMaxTextBytes));
  chat.Restore(TRY(ReadConversation(text, model_.vocab_size).In(path)));
  return std::string("Loaded what was said.");
}

Result<std::string> SessionKeeper::Load(const std::string& name_or_path, Chat& chat,
                                        bool text_alone) {
  const std::string path = TRY(folder_.PathOf(name_or_path));
  if (LooksLikeText(path)) return LoadText(path, chat);
  const disk::OpenSession open = TRY(folder_.Open(name_or_path));
  const disk::SessionModel& other = open.session.model;
  const bool is_same = other.fingerprint == model_.fingerprint;
  if (other.vocab_size != model_.vocab_size) {
    return InvalidArgument(
        fmt::format("{}: held with {}, and this is {}: not even their vocabularies are the same",
                    path, ShortName(other), ShortName(model_)));
  }
  if (!is_same && !text_alone) {
    return FailedPrecondition(
        fmt::format("{}: held with {}, and this is {}: what one remembers is of no use to the "
                    "other; load its text alone, or run it with its own model",
                    path, ShortName(other), ShortName(model_)));
  }
  Conversation conversation = ConversationOf(open.session);
  for (const int32_t token : conversation.tokens) {
    if (token < 0 || static_cast<uint32_t>(token) >= model_.vocab_size) {
      return DataLoss(path + ": a token that this model does not have");
    }
  }
  const size_t turns = conversation.messages.size() / 2;
  const size_t tokens = conversation.tokens.size();
  chat.Restore(std::move(conversation));
  std::string said =
      fmt::format("Loaded: {} turn{}, {} tokens", turns, turns == 1 ? "" : "s", tokens);
  if (!is_same) {
    return said + fmt::format("; held with {}, so {} computes them again.", ShortName(other),
                              ShortName(model_));
  }
  return said + TRY(LoadRows(open, chat));
}

// What cannot be brought back is computed again; so nothing here is an error.
Result<std::string> SessionKeeper::LoadRows(const disk::OpenSession& open, Chat& chat) {
  std::string why;
  if (open.session.model.layout != layout_.digest()) {
    why = fmt::format("they were remembered as {}, and here it is {}",
                      Harmless(open.session.model.layout_description), model_.layout_description);
  } else {
    const Status loaded = folder_.LoadRows(open, layout_, [&](Bytes parcel) {
      return answering_.ImportRows(chat.sequence(), parcel);
    });
    if (!loaded.ok()) why = loaded.error().message();
  }
  if (open.damage) why = open.damage->message();
  std::string said = fmt::format(", {} of them remembered", chat.sequence().computed());
  if (!why.empty()) said += fmt::format("; the rest is computed again: {}", why);
  return said + ".";
}

}  // namespace aster::cli
