// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "serve/responses.h"
#include "serve/service.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kResponses = "/v1/responses/";
constexpr std::string_view kInputItems = "/input_items";

Problem NoResponse(const std::string& id, const std::string& field, bool is_open) {
  const char* const why =
      is_open ? "there is no such response here: it was deleted, or newer ones have replaced it; "
                "send the whole conversation as input"
              : "nothing is stored here: start the server with --store-responses, or send the "
                "whole conversation as input";
  Problem problem;
  problem.Set(is_open ? 404 : 400, field, fmt::format("{}: {}", id, why));
  return problem;
}

}  // namespace

// The conversation before the request goes in front of its input.
void Service::GoOnFrom(const HttpRequest& request, ordered_json& body, Problem& problem) const {
  if (problem.any()) return;
  const auto id = Fields(body, problem).String("previous_response_id");
  if (!id) return;
  const auto before = responses_.Find(*id, ClientOf(request, ""));
  if (!before) {
    problem = NoResponse(*id, "previous_response_id", responses_.is_open());
    return;
  }
  ordered_json items = before->items;
  for (const ordered_json& item : before->response["output"]) items.push_back(item);
  const ordered_json input = InputItems(body);
  // What is no list is refused where input is read.
  if (!input.is_array()) return;
  for (const ordered_json& item : input) items.push_back(item);
  body["input"] = std::move(items);
}

void Service::Responses(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  Problem problem;
  ordered_json body = ParseBody(request.body, problem);
  GoOnFrom(request, body, problem);
  const ServedModel* const model = ModelOf(body, problem);
  Ask ask;
  if (model != nullptr) ask = ReadResponsesRequest(body, model->defaults, problem);
  if (problem.any()) return Refuse(request, *stream, problem);
  ReplyFrame frame = FrameFor(body, *model, "resp_", stream);
  const auto stores = body.find("store");
  const bool is_stored =
      responses_.is_open() && (stores == body.end() || !stores->is_boolean() || *stores);
  ResponseKeeper keep;
  if (is_stored) {
    keep = [this, id = frame.id, owner = ClientOf(request, ""),
            items = InputItems(body)](const ordered_json& response) {
      responses_.Add({.id = id, .owner = owner, .response = response, .items = items});
    };
  }
  auto writer = MakeResponsesWriter(std::move(frame), ask, body, std::move(keep));
  StartAnswer(*model, request, std::move(ask), stream, std::move(writer));
}

void Service::OneResponse(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  std::string id = request.path.substr(kResponses.size());
  const bool wants_items = id.ends_with(kInputItems);
  if (wants_items) id.resize(id.size() - kInputItems.size());
  const std::string route(kResponses);
  const std::string owner = ClientOf(request, "");
  const auto found = responses_.Find(id, owner);
  if (!found) return RefuseAt(route, *stream, NoResponse(id, "response_id", responses_.is_open()));
  if (request.method == "DELETE") {
    responses_.Delete(id, owner);
    return SendJsonAt(route, *stream, {{"id", id}, {"object", "response"}, {"deleted", true}});
  }
  if (!wants_items) return SendJsonAt(route, *stream, found->response);
  SendJsonAt(route, *stream, {{"object", "list"}, {"data", found->items}, {"has_more", false}});
}

}  // namespace aster::serve
