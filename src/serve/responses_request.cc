// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include "serve/responses.h"
#include "serve/shared_fields.h"
#include "serve/tool_fields.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

// The assistant's message that the next item belongs to.
ordered_json& OpenAssistant(ApiRequest& request) {
  if (request.messages.empty() || request.messages.back()["role"] != "assistant") {
    request.messages.push_back({{"role", "assistant"}, {"content", ""}});
  }
  return request.messages.back();
}

void ReadMessageItem(const Fields& item, ApiRequest& request) {
  std::string role = item.String("role").value_or("");
  if (role == "developer") role = "system";
  if (role != "system" && role != "user" && role != "assistant") {
    return item.Refuse("role", "is none of system, developer, user, assistant");
  }
  const std::string content = ReadContent(item, "content");
  if (role != "assistant") {
    request.messages.push_back({{"role", role}, {"content", content}});
    return;
  }
  ordered_json& message = OpenAssistant(request);
  // A message after calls is a new one.
  if (message.contains("tool_calls") || message["content"] != "") {
    request.messages.push_back({{"role", "assistant"}, {"content", content}});
  } else {
    message["content"] = content;
  }
}

void ReadItem(const Fields& item, ApiRequest& request) {
  const std::string type = item.String("type").value_or("message");
  if (type == "message") return ReadMessageItem(item, request);
  if (type == "function_call") {
    const auto name = item.String("name");
    const auto id = item.String("call_id");
    const auto arguments = item.String("arguments");
    if (!name) return item.Refuse("name", "is missing");
    if (!id) return item.Refuse("call_id", "is missing");
    request.call_ids.insert(*id);
    OpenAssistant(request)["tool_calls"].push_back(
        {{"id", *id},
         {"type", "function"},
         {"function",
          {{"name", *name}, {"arguments", arguments && !arguments->empty() ? *arguments : "{}"}}}});
  } else if (type == "function_call_output") {
    const auto id = item.String("call_id");
    if (!id) return item.Refuse("call_id", "is missing");
    if (!request.call_ids.contains(*id)) {
      return item.Refuse("call_id", fmt::format("no function_call before it has the id {}", *id));
    }
    request.messages.push_back(
        {{"role", "tool"}, {"tool_call_id", *id}, {"content", ReadContent(item, "output")}});
  } else if (type == "reasoning") {
    std::string thought;
    const ordered_json* content = item.Array("content");
    for (const ordered_json& part : content != nullptr ? *content : ordered_json::array()) {
      const auto text = part.is_object() ? part.value("text", ordered_json()) : ordered_json();
      if (text.is_string()) thought += text.get<std::string>();
    }
    if (!thought.empty()) {
      request.messages.push_back(
          {{"role", "assistant"}, {"content", ""}, {"reasoning_content", thought}});
    }
  } else {
    item.Refuse("type", fmt::format("\"{}\" is not supported here", type));
  }
}

void ReadInput(const Fields& fields, ApiRequest& request) {
  if (const auto instructions = fields.String("instructions")) {
    request.messages.push_back({{"role", "system"}, {"content", *instructions}});
  }
  const ordered_json* input = fields.Find("input");
  if (input != nullptr && input->is_string()) {
    request.messages.push_back({{"role", "user"}, {"content", *input}});
    return;
  }
  if (input == nullptr || !input->is_array() || input->empty()) {
    return fields.Refuse("input", "give a text or a list of items");
  }
  for (size_t i = 0; i < input->size() && !fields.problem().any(); ++i) {
    const std::string path = fmt::format("input[{}]", i);
    if (!(*input)[i].is_object()) return fields.Refuse(path, "give an object");
    ReadItem(Fields((*input)[i], fields.problem(), path + "."), request);
  }
  if (fields.problem().any()) return;
  if (const auto call = FindUnansweredCall(request)) {
    fields.Refuse("input", fmt::format("the function_call {} has no result; send its "
                                       "function_call_output behind it",
                                       call->id));
  }
}

// /v1/chat/completions has them in one field.
void ReadLogprobs(const Fields& fields, ApiRequest& request) {
  const auto top = fields.Integer("top_logprobs", 0, kMaxTopLogprobs);
  const ordered_json* include = fields.Array("include");
  request.sampling.logprobs = top.value_or(0) > 0;
  if (include != nullptr) {
    request.sampling.logprobs |= std::ranges::any_of(
        *include, [](const ordered_json& one) { return one == "message.output_text.logprobs"; });
  }
  request.sampling.top_logprobs = static_cast<uint32_t>(top.value_or(0));
}

void ReadTextFormat(const Fields& fields, ApiRequest& request) {
  const ordered_json* text = fields.Object("text");
  const ordered_json* format =
      text != nullptr ? Fields(*text, fields.problem(), "text.").Object("format") : nullptr;
  if (format == nullptr) return;
  ReadFormat(Fields(*format, fields.problem(), "text.format."), nullptr, request);
}

}  // namespace

ApiRequest ReadResponsesRequest(const ordered_json& body, const RequestDefaults& defaults,
                                Problem& problem) {
  const Fields fields(body, problem);
  ApiRequest request;
  request.prompt_field = "input";
  ReadInput(fields, request);
  ReadSampling(fields, request, defaults);
  ReadMaxTokens(fields, "max_output_tokens", defaults, request);
  ReadLogprobs(fields, request);
  request.streams = fields.Bool("stream").value_or(false);
  ReadTools(fields, request);
  ReadToolChoice(fields, request);
  request.parallel_calls = fields.Bool("parallel_tool_calls").value_or(true);
  if (const ordered_json* reasoning = fields.Object("reasoning")) {
    ReadEffort(Fields(*reasoning, problem, "reasoning."), "effort", request);
  }
  ReadTextFormat(fields, request);
  ReadBareForms(fields, request);
  if (fields.Find("conversation") != nullptr)
    fields.Refuse("conversation", "is not stored here; send the whole conversation as input");
  fields.Bool("store");
  request.is_background = fields.Bool("background").value_or(false);
  if (request.is_background && request.streams)
    fields.Refuse("background", "cannot be streamed: ask for the response by its id");
  request.user = fields.String("user").value_or("");
  return request;
}

}  // namespace aster::serve
