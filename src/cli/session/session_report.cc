// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/session/session_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/clock.h"
#include "cli/session/session_keeper.h"

namespace aster::cli {

using nlohmann::ordered_json;

ExaminedSession ExamineSession(const disk::SessionFolder& folder, disk::ListedSession listed,
                               disk::SessionFolder::Look look) {
  ExaminedSession examined{.listed = std::move(listed), .whole = {}};
  if (examined.listed.error) return examined;
  // By its path, as another session may have the name now.
  const auto open = folder.Open(examined.listed.path);
  if (!open.ok()) return examined;
  disk::WholePages whole = folder.FindWhole(*open, look);
  examined.whole = std::move(whole.pages);
  if (!examined.listed.damage) examined.listed.damage = std::move(whole.damage);
  return examined;
}

HeldRows HeldBy(const ExaminedSession& examined) {
  HeldRows held;
  std::map<uint32_t, uint32_t> end_of;  // by first layer: the end of its pages
  for (const disk::SessionPage& page : examined.session().pages) {
    end_of[page.name.layers.begin] = 0;
    held.layers = std::max(held.layers, page.name.layers.end);
  }
  for (const disk::SessionPage& page : examined.whole) {
    uint32_t& end = end_of[page.name.layers.begin];
    end = std::max(end, page.name.end);
  }
  for (const auto& [layer, end] : end_of) {
    held.positions = layer == end_of.begin()->first ? end : std::min(held.positions, end);
  }
  return held;
}

Result<disk::ListedSession> FindSession(const disk::SessionFolder& folder,
                                        const std::string& name) {
  disk::OpenSession open = TRY(folder.Open(name));
  if (name.find('/') == std::string::npos) {
    for (disk::ListedSession& listed : TRY(folder.List())) {
      if (listed.name == name) return std::move(listed);
    }
  }
  return disk::ListedSession{.name = name,
                             .path = open.path,
                             .error = {},
                             .session = std::move(open.session),
                             .damage = std::move(open.damage),
                             .own_bytes = open.file->size_bytes()};
}

ordered_json SessionJson(const ExaminedSession& examined) {
  const disk::ListedSession& listed = examined.listed;
  if (listed.error) return {{"name", listed.name}, {"error", listed.error->message()}};
  const disk::Session& session = listed.session;
  const HeldRows held = HeldBy(examined);
  ordered_json json = {{"name", listed.name},
                       {"path", listed.path},
                       {"model", session.model.name},
                       {"model_path", session.model.path},
                       {"fingerprint", session.model.fingerprint.ToHex()},
                       {"layout", session.model.layout_description},
                       {"tokens", session.tokens.size()},
                       {"kv_tokens", held.positions},
                       {"turns", CountTurns(session.messages)},
                       {"pages", session.pages.size()},
                       {"own_bytes", listed.own_bytes},
                       {"shared_bytes", listed.shared_bytes},
                       {"saved_unix_s", session.saved_ns / kNsPerSecond}};
  if (listed.damage) json["damage"] = listed.damage->message();
  return json;
}

ordered_json WholeSessionJson(const ExaminedSession& examined) {
  const disk::Session& session = examined.session();
  ordered_json json = SessionJson(examined);
  json["system"] = session.system;
  json["messages"] = ordered_json::array();
  for (const disk::SessionMessage& message : session.messages) {
    json["messages"].push_back({{"role", message.role}, {"content", message.content}});
  }
  return json;
}

}  // namespace aster::cli
