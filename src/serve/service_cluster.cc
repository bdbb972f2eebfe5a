// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Requests that change the cluster, and who may send them.

#include <nlohmann/json.hpp>
#include <utility>

#include "serve/origin.h"
#include "serve/service.h"

namespace aster::serve {

using nlohmann::ordered_json;

namespace {

constexpr int64_t kUsualMinutes = 10;
constexpr int64_t kMostMinutes = 7 * 24 * 60;

}  // namespace

// An administrator may, but not through a page of another server, even if that page may chat.
bool Service::MayChangeCluster(const HttpRequest& request, Problem& problem) const {
  const std::string_view origin = request.Header("origin");
  if (options_.changes == nullptr) {
    problem.Set(409, "",
                "this server is on no cluster: start it with --cluster on a machine of one; aster "
                "cluster init makes a cluster, aster cluster join joins one");
  } else if (options_.admin_keys.empty()) {
    problem.Set(403, "",
                "this server does not change its cluster: start it with ASTER_ADMIN_KEY or "
                "--admin-keys, or use aster cluster on the command line");
  } else if (IsOfPage(origin) && !IsSameOrigin(origin, request.Header("host"))) {
    problem.Set(403, "", "of web pages, only the server's own may change its cluster");
  } else if (!HasKeyOf(options_.admin_keys, request)) {
    problem.Set(401, "", "give an administrator's key: Authorization: Bearer KEY",
                "admin_key_needed");
  }
  return !problem.any();
}

ClusterChanges::Done Service::ReplyWith(std::string path,
                                        const std::shared_ptr<ReplyStream>& stream) {
  return [this, path = std::move(path), stream](const Result<std::string>& json) {
    if (!json.ok()) return Refuse(path, ProblemForm::kOpenAi, *stream, ProblemOf(json.error()));
    stream->Send(200, "application/json", *json);
    requests_.Count(path, 200);
  };
}

// Null, and a problem, if the request is refused.
ordered_json Service::ChangeOf(const HttpRequest& request, Problem& problem) const {
  return MayChangeCluster(request, problem) ? ParseBody(request.body, problem) : nullptr;
}

void Service::Invite(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  Problem problem;
  const ordered_json body = ChangeOf(request, problem);
  const auto minutes = Fields(body, problem).Integer("minutes", 1, kMostMinutes);
  if (problem.any()) return Refuse(request, *stream, problem);
  options_.changes->Invite(minutes.value_or(kUsualMinutes), ReplyWith(request.path, stream));
}

void Service::Drain(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  Problem problem;
  const ordered_json body = ChangeOf(request, problem);
  const Fields fields(body, problem);
  const auto node = fields.String("node");
  const bool is_drained = fields.Bool("drained").value_or(true);
  if (!node) fields.Refuse("node", "is missing");
  if (problem.any()) return Refuse(request, *stream, problem);
  options_.changes->Drain(*node, is_drained, ReplyWith(request.path, stream));
}

void Service::Revoke(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  Problem problem;
  const ordered_json body = ChangeOf(request, problem);
  const Fields fields(body, problem);
  const auto node = fields.String("node");
  if (!node) fields.Refuse("node", "is missing");
  if (problem.any()) return Refuse(request, *stream, problem);
  options_.changes->Revoke(*node, ReplyWith(request.path, stream));
}

}  // namespace aster::serve
