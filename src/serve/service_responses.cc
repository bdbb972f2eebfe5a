// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "serve/openai_reply.h"
#include "serve/responses.h"
#include "serve/service.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kResponses = "/v1/responses/";
constexpr std::string_view kInputItems = "/input_items";
constexpr std::string_view kCancel = "/cancel";
// Tells a load balancer which server stores a response, before its stream does.
constexpr const char* kResponseId = "X-Response-Id";

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

// Puts the conversation before the request in front of its input.
void Service::ContinueResponse(const HttpRequest& request, ordered_json& body,
                               Problem& problem) const {
  if (problem.any()) return;
  const auto id = Fields(body, problem).String("previous_response_id");
  if (!id) return;
  const auto before = responses_.Find(*id, ClientOf(request, ""));
  if (!before) {
    problem = NoResponse(*id, "previous_response_id", responses_.is_open());
    return;
  }
  if (before->is_running()) {
    problem.Set(400, "previous_response_id",
                fmt::format("{}: is still being computed; ask again when it is completed", *id));
    return;
  }
  ordered_json items = before->items;
  for (const ordered_json& item : before->response["output"]) items.push_back(item);
  const ordered_json input = InputItems(body);
  // Reading the input refuses anything but a list.
  if (!input.is_array()) return;
  for (const ordered_json& item : input) items.push_back(item);
  body["input"] = std::move(items);
}

void Service::Responses(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  Problem problem;
  ordered_json body = ParseBody(request.body, problem);
  ContinueResponse(request, body, problem);
  const ServedModel* const model = ModelOf(body, problem);
  ApiRequest api_request;
  if (model != nullptr) api_request = ReadResponsesRequest(body, model->defaults, problem);
  if (problem.any()) return Refuse(request, *stream, problem);
  ReplyFrame frame = FrameFor(body, *model, "resp_", stream);
  const auto stores = body.find("store");
  const bool is_stored =
      responses_.is_open() && (stores == body.end() || !stores->is_boolean() || *stores);
  if (api_request.is_background && is_stored)
    return StartInBackground(*model, request, std::move(frame), std::move(api_request), body,
                             *stream);
  if (api_request.is_background) {
    problem.Set(400, "background",
                responses_.is_open() ? "background: the response has to be stored: leave store out"
                                     : "background: nothing is stored here: start the server with "
                                       "--store-responses, or stream the response instead");
    return Refuse(request, *stream, problem);
  }
  // Stores the complete response with its conversation, for later requests.
  ResponseKeeper keep;
  if (is_stored) {
    stream->AddHeader(kResponseId, frame.id);
    keep = [this, id = frame.id, owner = ClientOf(request, ""),
            items = InputItems(body)](const ordered_json& response) {
      responses_.Add({.id = id, .owner = owner, .response = response, .items = items});
    };
  }
  auto writer = MakeResponsesWriter(std::move(frame), api_request, body, std::move(keep));
  StartAnswer(*model, request, std::move(api_request), stream, std::move(writer));
}

// The answer goes to a stream without a client, and its states to the store.
void Service::StartInBackground(const ServedModel& model, const HttpRequest& request,
                                ReplyFrame frame, ApiRequest api_request, const ordered_json& body,
                                ReplyStream& stream) {
  Problem problem;
  TimeoutOf(request, problem);
  if (problem.any()) return Refuse(request, stream, problem);
  const auto apart = std::make_shared<ReplyStream>(
      ReplyStream::Options{.request_id = stream.request_id()}, background_waker_);
  const std::string id = frame.id;
  const std::string owner = ClientOf(request, "");
  const bool has_place = responses_.Reserve({.id = id,
                                             .owner = owner,
                                             .response = ordered_json::object(),
                                             .items = InputItems(body),
                                             .cancel = [apart] { apart->SetGone(); }});
  if (!has_place) {
    problem.Set(429, "background",
                "background: as many responses as --store-responses allows are being computed; "
                "try again later");
    return Refuse(request, stream, problem);
  }
  const auto keep = [this, id](const ordered_json& response) {
    const bool goes_on = response["status"] == "queued" || response["status"] == "in_progress";
    responses_.Update(id, response, !goes_on);
  };
  stream.AddHeader(kResponseId, id);
  frame.stream = apart;
  auto writer = MakeResponsesWriter(std::move(frame), api_request, body, keep);
  StartAnswer(model, request, std::move(api_request), apart, std::move(writer));
  // Errors that occur at once, such as a prompt that is too long, are sent at once.
  const auto begun = responses_.Find(id, owner);
  if (!begun) return Refuse(request, stream, NoResponse(id, "", /*is_open=*/true));
  stream.Send(200, "application/json", DumpJson(begun->response));
}

void Service::CancelResponse(const HttpRequest& request,
                             const std::shared_ptr<ReplyStream>& stream) {
  const std::string route(kResponses);
  std::string id = request.path.substr(kResponses.size());
  if (!id.ends_with(kCancel)) {
    return RefuseAt(route, *stream,
                    {.status = 404, .message = "there is nothing at " + request.path});
  }
  id.resize(id.size() - kCancel.size());
  const auto found = responses_.Cancel(id, ClientOf(request, ""));
  if (!found) return RefuseAt(route, *stream, NoResponse(id, "response_id", responses_.is_open()));
  if (found->response["background"] == true) return SendJsonAt(route, *stream, found->response);
  RefuseAt(route, *stream,
           {.status = 400,
            .message = id + ": only a response in the background can be cancelled",
            .param = "response_id"});
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
