// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/percent.h"
#include "base/utf8.h"
#include "serve/service.h"

namespace aster::serve {

using nlohmann::ordered_json;

ordered_json Service::ModelJson(const ServedModel& model) const {
  ordered_json json = {{"id", model.context.name},
                       {"object", "model"},
                       {"created", options_.created_s},
                       {"owned_by", "asterism"},
                       {"context_length", model.context.context_limit},
                       // For Anthropic's programs.
                       {"type", "model"},
                       {"display_name", model.context.name},
                       {"created_at", TimeText(options_.created_s)}};
  if (model.context.ensemble != nullptr) {
    for (const ensemble::Member& member : model.context.ensemble->ensemble().members())
      json["ensemble"].push_back({{"name", member.name}, {"weight", member.weight}});
    json["policy"] = ensemble::PolicyName(model.context.ensemble->ensemble().policy());
  }
  return json;
}

namespace {

// "" if the query does not have it.
std::string QueryValue(std::string_view query, std::string_view key) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == key)
      return ToValidUtf8(WithoutPercents(pair.substr(equals + 1)));
  }
  return "";
}

// The part of a list that a query selects: limit, after (or after_id) and before_id.
ordered_json PageOf(const ordered_json& list, std::string_view query, Problem& problem) {
  const std::string limit = QueryValue(query, "limit");
  size_t most = list.size();
  if (!limit.empty()) {
    const auto parsed = std::from_chars(limit.data(), limit.data() + limit.size(), most);
    if (parsed.ec != std::errc() || parsed.ptr != limit.data() + limit.size() || most == 0)
      problem.Set(400, "limit", "limit: give a whole number of at least 1");
  }
  const auto place = [&](const std::string& id) {
    const auto found = std::ranges::find_if(list, [&](const auto& one) { return one["id"] == id; });
    if (found == list.end()) problem.Set(400, "after", id + " is none of the list");
    return static_cast<size_t>(found - list.begin());
  };
  size_t begin = 0;
  size_t end = list.size();
  std::string after = QueryValue(query, "after");
  if (after.empty()) after = QueryValue(query, "after_id");
  if (!after.empty()) begin = place(after) + 1;
  const std::string before = QueryValue(query, "before_id");
  if (!before.empty()) end = place(before);
  if (problem.any()) return {};
  begin = std::min(begin, end);
  const bool has_more = end - begin > most;
  // Backwards: those right before the named one.
  if (has_more && !before.empty()) begin = end - most;
  end = std::min(end, begin + most);
  ordered_json data = ordered_json::array();
  for (size_t i = begin; i < end; ++i) data.push_back(list[i]);
  const ordered_json first = data.empty() ? ordered_json() : data.front()["id"];
  const ordered_json last = data.empty() ? ordered_json() : data.back()["id"];
  return {{"object", "list"},
          {"data", std::move(data)},
          {"has_more", has_more},
          {"first_id", first},
          {"last_id", last}};
}

}  // namespace

void Service::Models(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  ordered_json list = ordered_json::array();
  for (const ServedModel& model : options_.models) {
    list.push_back(ModelJson(model));
    for (const std::string& alias : model.aliases) {
      if (alias == "*") continue;
      list.push_back(ModelJson(model));
      list.back()["id"] = alias;
    }
  }
  Problem problem;
  const ordered_json page = PageOf(list, request.query, problem);
  if (problem.any()) return Refuse(request, *stream, problem);
  SendJson(request, *stream, 200, page);
}

void Service::OneModel(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  // Names may have slashes, which programs escape.
  const std::string name =
      ToValidUtf8(WithoutPercents(request.path.substr(std::string_view("/v1/models/").size())));
  Problem problem;
  const ordered_json named = {{"model", name}};
  const ServedModel* const model = ModelOf(named, problem);
  HttpRequest counted;
  counted.path = "/v1/models/";
  if (model == nullptr) return Refuse(counted, *stream, problem);
  ordered_json json = ModelJson(*model);
  json["id"] = name;
  SendJson(counted, *stream, 200, json);
}

}  // namespace aster::serve
