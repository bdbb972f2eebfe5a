// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Requests for the user's sessions on the server's machine, and who may send them.

#include <fmt/format.h>

#include <algorithm>

#include "base/percent.h"
#include "base/utf8.h"
#include "serve/origin.h"
#include "serve/service.h"

namespace aster::serve {
namespace {

constexpr std::string_view kOneSession = "/v1/sessions/";
constexpr std::string_view kLoad = "/load";

std::string NameIn(std::string_view part) { return ToValidUtf8(WithoutPercents(part)); }

}  // namespace

// If the server has keys, or answers other machines, only administrators may use its user's files;
// and never a page of another server.
bool Service::MayUseFiles(const HttpRequest& request, const FilesUse& use, Problem& problem) const {
  const std::string_view origin = request.Header("origin");
  if (IsOfPage(origin) && !IsSameOrigin(origin, request.Header("host"))) {
    problem.Set(403, "", fmt::format("of web pages, only the server's own may {}", use.verb));
  } else if (!options_.files_need_admin || HasKeyOf(options_.admin_keys, request)) {
    return true;
  } else if (options_.admin_keys.empty()) {
    problem.Set(403, "",
                fmt::format("only administrators may {}, and this server has none: start it with "
                            "ASTER_ADMIN_KEY or --admin-keys, or use {} on its machine",
                            use.verb, use.command));
  } else {
    problem.Set(401, "", "give an administrator's key: Authorization: Bearer KEY",
                "admin_key_needed");
  }
  return false;
}

bool Service::MayUseSessions(const HttpRequest& request, Problem& problem) const {
  if (options_.sessions != nullptr) {
    return MayUseFiles(request, {.verb = "use saved sessions", .command = "aster session"},
                       problem);
  }
  problem.Set(501, "", "this server shows no sessions; use aster session list");
  return false;
}

void Service::Sessions(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  Problem problem;
  if (!MayUseSessions(request, problem)) return Refuse(request, *stream, problem);
  options_.sessions->List(ReplyWith(request.path, stream));
}

void Service::OneSession(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  // Counted and logged by its route: names are private.
  const std::string route(kOneSession);
  Problem problem;
  if (!MayUseSessions(request, problem)) return RefuseAt(route, *stream, problem);
  const std::string name = NameIn(std::string_view(request.path).substr(route.size()));
  if (request.method == "DELETE") {
    options_.sessions->Remove(name, ReplyWith(route, stream));
  } else {
    options_.sessions->Show(name, ReplyWith(route, stream));
  }
}

void Service::LoadSession(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  const std::string route = std::string(kOneSession) + "NAME" + std::string(kLoad);
  Problem problem;
  if (!request.path.ends_with(kLoad)) {
    problem.Set(404, "", "nothing can be sent to " + request.path);
  } else {
    MayUseSessions(request, problem);
  }
  if (problem.any()) return RefuseAt(route, *stream, problem);
  std::string_view part = std::string_view(request.path).substr(kOneSession.size());
  part.remove_suffix(std::min(part.size(), kLoad.size()));
  options_.sessions->Load(NameIn(part), ReplyWith(route, stream));
}

}  // namespace aster::serve
