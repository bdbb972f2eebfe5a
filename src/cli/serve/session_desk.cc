// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/serve/session_desk.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "cli/session/session_keeper.h"
#include "cli/session/session_report.h"

namespace aster::cli {
namespace {

using Look = disk::SessionFolder::Look;
using nlohmann::ordered_json;

std::string OneLine(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

// Elsewhere a name may be a path; a client has no business outside of the folder.
Status CheckName(const std::string& name) {
  if (name.find('/') == std::string::npos) return Ok();
  return InvalidArgument("a session's name has no slash");
}

// Where files stand is not told.
ordered_json ToldOf(ordered_json json, const SessionDesk::ServedNames& served) {
  for (const char* key : {"path", "model_path"}) json.erase(key);
  if (!json.contains("fingerprint")) return json;
  const auto found = served.find(json["fingerprint"].get<std::string>());
  json["served_as"] = found == served.end() ? ordered_json(nullptr) : ordered_json(found->second);
  return json;
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

void SessionDesk::List(Done done) {
  thread_.Add([this] { return ListNow(); }, std::move(done));
}

void SessionDesk::Show(std::string name, Done done) {
  thread_.Add([this, name = std::move(name)] { return ShowNow(name); }, std::move(done));
}

void SessionDesk::Remove(std::string name, Done done) {
  thread_.Add([name = std::move(name)] { return RemoveNow(name); }, std::move(done));
}

Result<std::string> SessionDesk::ListNow() const {
  SystemClock clock;
  const disk::SessionFolder folder = TRY(UserSessions(clock));
  ordered_json data = ordered_json::array();
  for (disk::ListedSession& listed : TRY(folder.List())) {
    const ExaminedSession examined = ExamineSession(folder, std::move(listed), Look::kHeaders);
    data.push_back(ToldOf(SessionJson(examined), served_));
  }
  return OneLine({{"object", "list"}, {"data", std::move(data)}});
}

Result<std::string> SessionDesk::ShowNow(const std::string& name) const {
  TRY(CheckName(name));
  SystemClock clock;
  const disk::SessionFolder folder = TRY(UserSessions(clock));
  const ExaminedSession examined =
      ExamineSession(folder, TRY(FindSession(folder, name)), Look::kHeaders);
  return OneLine(ToldOf(WholeSessionJson(examined), served_));
}

}  // namespace aster::cli
