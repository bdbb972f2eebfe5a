// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/serve/session_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "cli/session/session_keeper.h"
#include "cli/session/session_report.h"
#include "cli/terminal/console.h"
#include "model/memory/memory.h"

namespace aster::cli {
namespace {

using Look = disk::SessionFolder::Look;
using nlohmann::ordered_json;

std::string OneLine(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

// Elsewhere a name may be a path; clients must stay in the folder.
Status CheckName(const std::string& name) {
  if (name.find('/') == std::string::npos) return Ok();
  return InvalidArgument("a session's name has no slash");
}

// Loads the KV rows into the model's KV cache, one KV chunk between two of its steps, so that
// answers continue meanwhile. `loaded`: the number of loaded positions, after an error, too.
Status LoadRows(const disk::SessionFolder& folder, const disk::OpenSession& open,
                const SessionWorker::Model& model, uint32_t& loaded) {
  const disk::Session& session = open.session;
  if (!open.has_tokens) return *open.damage;
  if (session.model.layout != model.layout.digest()) {
    return FailedPrecondition(fmt::format("the session's KV rows are {}, and the server's are {}",
                                          session.model.layout_description,
                                          model.layout.Describe(model.layout.all_layers())));
  }
  const uint32_t vocab_size = model.generator->shape().vocab_size;
  const auto is_known = [&](int32_t token) {
    return token >= 0 && static_cast<uint32_t>(token) < vocab_size;
  };
  if (!std::ranges::all_of(session.tokens, is_known))
    return DataLoss("the session has a token that its model does not have");
  const Status rows = folder.LoadRows(open, model.layout, [&](Bytes chunk) {
    return model.loop->CallToLoad(session.tokens, [&](engine::Sequence& sequence) {
      Status imported = model.generator->ImportRows(sequence, chunk);
      loaded = sequence.computed();
      return imported;
    });
  });
  TRY(model.loop->EndLoading());
  TRY(rows);
  return open.damage ? Status(*open.damage) : Ok();
}

Result<std::string> RemoveNow(const std::string& name) {
  TRY(CheckName(name));
  SystemClock clock;
  disk::SessionFolder folder = TRY(UserSessions(clock));
  const uint64_t freed_bytes = TRY(folder.Remove(name));
  log::Info("session removed", {{"freed_bytes", freed_bytes}});
  return OneLine({{"name", name}, {"deleted", true}, {"freed_bytes", freed_bytes}});
}

}  // namespace

void SessionWorker::List(Done done) {
  thread_.Add([this] { return ListNow(); }, std::move(done));
}

void SessionWorker::Show(std::string name, Done done) {
  thread_.Add([this, name = std::move(name)] { return ShowNow(name); }, std::move(done));
}

void SessionWorker::Remove(std::string name, Done done) {
  thread_.Add([name = std::move(name)] { return RemoveNow(name); }, std::move(done));
}

void SessionWorker::Load(std::string name, Done done) {
  thread_.Add([this, name = std::move(name)] { return LoadNow(name); }, std::move(done));
}

Result<SessionWorker::Model> SessionWorker::ModelOf(std::string name, const Hash128& fingerprint,
                                                    const open::ModelOptions& options,
                                                    engine::Generator& generator,
                                                    serve::AnswerLoop& loop) {
  const model::Shape& shape = generator.shape();
  const engine::LocalModelOptions engine = TRY(options.ForEngine());
  return Model{.name = std::move(name),
               .fingerprint = fingerprint,
               .layout = TRY(model::MakeMemoryLayout(shape, model::Narrowed(engine.memory, shape),
                                                     fingerprint)),
               .generator = &generator,
               .loop = &loop};
}

const SessionWorker::Model* SessionWorker::FindModel(const Hash128& fingerprint) const {
  const auto found = std::ranges::find(models_, fingerprint, &Model::fingerprint);
  return found == models_.end() ? nullptr : &*found;
}

// Clients do not learn the paths of files.
ordered_json SessionWorker::ForClients(ordered_json json, const disk::Session& session) const {
  for (const char* key : {"path", "model_path"}) json.erase(key);
  if (!json.contains("fingerprint")) return json;
  const Model* const model = FindModel(session.model.fingerprint);
  json["served_as"] = model == nullptr ? ordered_json(nullptr) : ordered_json(model->name);
  return json;
}

Result<std::string> SessionWorker::ListNow() const {
  SystemClock clock;
  const disk::SessionFolder folder = TRY(UserSessions(clock));
  ordered_json data = ordered_json::array();
  for (disk::ListedSession& listed : TRY(folder.List())) {
    const ExaminedSession examined = ExamineSession(folder, std::move(listed), Look::kHeaders);
    data.push_back(ForClients(SessionJson(examined), examined.session()));
  }
  return OneLine({{"object", "list"}, {"data", std::move(data)}});
}

Result<std::string> SessionWorker::ShowNow(const std::string& name) const {
  TRY(CheckName(name));
  SystemClock clock;
  const disk::SessionFolder folder = TRY(UserSessions(clock));
  const ExaminedSession examined =
      ExamineSession(folder, TRY(FindSession(folder, name)), Look::kHeaders);
  return OneLine(ForClients(WholeSessionJson(examined), examined.session()));
}

Result<std::string> SessionWorker::LoadNow(const std::string& name) const {
  TRY(CheckName(name));
  SystemClock clock;
  const disk::SessionFolder folder = TRY(UserSessions(clock));
  const disk::OpenSession open = TRY(folder.Open(name));
  const disk::SessionModel& of = open.session.model;
  const Model* const model = FindModel(of.fingerprint);
  if (model == nullptr) {
    return FailedPrecondition(
        fmt::format("{}: the server does not serve this session's model, {} ({})", name,
                    Harmless(of.name), of.fingerprint.ToHex().substr(0, 8)));
  }
  uint32_t loaded = 0;
  const Status rows = LoadRows(folder, open, *model, loaded);
  log::Info("session loaded", {{"model", model->name}, {"tokens", loaded}});
  // Missing rows are computed when the conversation continues, so this is no error.
  return OneLine(
      {{"name", name},
       {"model", model->name},
       {"tokens", open.session.tokens.size()},
       {"loaded_tokens", loaded},
       {"why_not_all", rows.ok() ? ordered_json(nullptr) : ordered_json(rows.error().message())}});
}

}  // namespace aster::cli
