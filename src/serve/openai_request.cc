// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/openai_request.h"

#include <fmt/format.h>

#include "serve/shared_fields.h"
#include "serve/tool_fields.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

void ReadStream(const Fields& fields, ApiRequest& request) {
  request.wants_progress = fields.Bool("return_progress").value_or(false);
  request.streams = fields.Bool("stream").value_or(false);
  const ordered_json* options = fields.Object("stream_options");
  if (options == nullptr) return;
  const Fields inner(*options, fields.problem(), "stream_options.");
  request.wants_usage = inner.Bool("include_usage").value_or(false);
}

void ReadChoices(const Fields& fields, ApiRequest& request) {
  request.choices = static_cast<uint32_t>(fields.Integer("n", 1, kMaxChoices).value_or(1));
}

// The calls of an earlier message.
void ReadCalls(const Fields& message, ApiRequest& request, ordered_json& out) {
  const ordered_json* calls = message.Array("tool_calls");
  if (calls == nullptr || calls->empty()) return;
  ordered_json list = ordered_json::array();
  for (size_t i = 0; i < calls->size(); ++i) {
    const std::string path = message.PathOf(fmt::format("tool_calls[{}]", i));
    const ordered_json& call = (*calls)[i];
    if (!call.is_object()) return message.problem().Set(400, path, path + ": give an object");
    const Fields fields(call, message.problem(), path + ".");
    const ordered_json* function = fields.Object("function");
    if (function == nullptr) return fields.Refuse("function", "is missing");
    const Fields inner(*function, message.problem(), path + ".function.");
    const auto name = inner.String("name");
    if (!name) return inner.Refuse("name", "is missing");
    const ordered_json* arguments = inner.Find("arguments");
    ordered_json written = "{}";
    if (arguments != nullptr && arguments->is_object()) {
      written = *arguments;
    } else if (arguments != nullptr) {
      if (!arguments->is_string())
        return inner.Refuse("arguments", "give the text of a JSON object");
      const auto& text = arguments->get_ref<const std::string&>();
      if (!text.empty()) written = text;
    }
    const std::string id = fields.String("id").value_or("");
    request.call_ids.insert(id);
    list.push_back({{"id", id},
                    {"type", "function"},
                    {"function", {{"name", *name}, {"arguments", std::move(written)}}}});
  }
  out["tool_calls"] = std::move(list);
}

ordered_json ReadMessage(const Fields& message, ApiRequest& request) {
  const auto given = message.String("role");
  std::string role = given.value_or("");
  if (role == "developer") role = "system";
  if (role == "function") role = "tool";
  if (role != "system" && role != "user" && role != "assistant" && role != "tool") {
    message.Refuse("role",
                   given ? "is none of system, developer, user, assistant, tool" : "is missing");
    return {};
  }
  ordered_json out = {{"role", role}, {"content", ReadContent(message, "content")}};
  if (const auto name = message.String("name")) out["name"] = *name;
  if (role == "assistant") {
    auto reasoning = message.String("reasoning_content");
    if (!reasoning) reasoning = message.String("reasoning");
    if (reasoning) out["reasoning_content"] = *reasoning;
    ReadCalls(message, request, out);
  } else if (message.Find("content") == nullptr) {
    message.Refuse("content", "is missing");
  }
  if (role == "tool") {
    const auto id = message.String("tool_call_id");
    if (id) out["tool_call_id"] = *id;
    if (!id && *given == "tool") message.Refuse("tool_call_id", "is missing");
    if (id && !request.call_ids.contains(*id))
      message.Refuse(
          "tool_call_id",
          fmt::format("no call before it has the id {}; send the message that has it", *id));
  }
  return out;
}

void ReadMessages(const Fields& fields, ApiRequest& request) {
  const ordered_json* messages = fields.Array("messages");
  if (messages == nullptr || messages->empty()) {
    return fields.Refuse("messages", "give at least one message");
  }
  for (size_t i = 0; i < messages->size(); ++i) {
    const ordered_json& message = (*messages)[i];
    const std::string path = fmt::format("messages[{}]", i);
    if (!message.is_object()) return fields.Refuse(path, "give an object");
    request.messages.push_back(ReadMessage(Fields(message, fields.problem(), path + "."), request));
    if (fields.problem().any()) return;
  }
  if (const auto call = FindUnansweredCall(request)) {
    fields.Refuse(fmt::format("messages[{}].tool_calls", call->message),
                  fmt::format("{} has no result; send a message of the role tool with this "
                              "tool_call_id behind it",
                              call->id));
  }
}

// Whether the answer continues the last message.
void ReadContinuation(const Fields& fields, ApiRequest& request) {
  request.continues = fields.Bool("continue_final_message").value_or(false);
  if (!request.continues || fields.problem().any()) return;
  if (request.messages.back()["role"] != "assistant")
    fields.Refuse("continue_final_message", "the last message is not the assistant's");
  if (fields.Bool("add_generation_prompt").value_or(false))
    fields.Refuse("add_generation_prompt", "not together with continue_final_message");
}

// Refuses options of older and other clients that are not supported.
void RefuseWhatIsNotDone(const Fields& fields) {
  for (const char* key : {"functions", "function_call"}) {
    if (fields.Find(key) != nullptr)
      fields.Refuse(key, "is not supported any more; give tools and tool_choice");
  }
  if (fields.Find("web_search_options") != nullptr)
    fields.Refuse("web_search_options", "this server does not search the web");
  if (fields.Find("audio") != nullptr) fields.Refuse("audio", "this model writes texts");
  const ordered_json* modalities = fields.Array("modalities");
  if (modalities == nullptr) return;
  for (const ordered_json& one : *modalities) {
    if (one != "text") fields.Refuse("modalities", "this model writes texts, and nothing else");
  }
}

// Checks the types of fields that change nothing here.
void ReadWhatChangesNothing(const Fields& fields) {
  fields.Bool("store");
  fields.Object("metadata");
  fields.Object("prediction");
  for (const char* key : {"service_tier", "safety_identifier", "prompt_cache_key", "verbosity"})
    fields.String(key);
}

void ReadResponseFormat(const Fields& fields, ApiRequest& request) {
  const ordered_json* format = fields.Object("response_format");
  if (format == nullptr) return;
  ReadFormat(Fields(*format, fields.problem(), "response_format."), "json_schema", request);
}

void ReadTemplateVariables(const Fields& fields, ApiRequest& request) {
  ReadEffort(fields, "reasoning_effort", request);
  if (const auto reasons = fields.Bool("enable_thinking")) SetReasoning(*reasons, request);
  const ordered_json* more = fields.Object("chat_template_kwargs");
  if (more == nullptr) return;
  for (const auto& [key, value] : more->items()) {
    if (key == "messages" || key == "tools" || key == "add_generation_prompt") {
      return fields.Refuse("chat_template_kwargs", fmt::format("{} is not allowed here", key));
    }
    request.variables[key] = value;
  }
}

}  // namespace

ApiRequest ReadChatRequest(const ordered_json& body, const RequestDefaults& defaults,
                           Problem& problem) {
  const Fields fields(body, problem);
  ApiRequest request;
  ReadMessages(fields, request);
  ReadContinuation(fields, request);
  ReadSampling(fields, request, defaults);
  ReadMaxTokens(fields, "max_tokens", defaults, request);
  ReadMaxTokens(fields, "max_completion_tokens", defaults, request);
  RefuseWhatIsNotDone(fields);
  ReadWhatChangesNothing(fields);
  ReadStops(fields, "stop", request);
  ReadStream(fields, request);
  ReadChoices(fields, request);
  ReadBiases(fields, request, defaults.vocab_size);
  ReadTools(fields, request);
  ReadToolChoice(fields, request);
  ReadTemplateVariables(fields, request);
  ReadResponseFormat(fields, request);
  ReadBareForms(fields, request);
  request.parallel_calls = fields.Bool("parallel_tool_calls").value_or(true);
  request.sampling.logprobs = fields.Bool("logprobs").value_or(false);
  if (const auto top = fields.Integer("top_logprobs", 0, kMaxTopLogprobs)) {
    if (!request.sampling.logprobs && *top > 0)
      fields.Refuse("top_logprobs", "needs logprobs to be true");
    request.sampling.top_logprobs = static_cast<uint32_t>(*top);
  }
  request.user = fields.String("user").value_or("");
  return request;
}

ApiRequest ReadCompletionRequest(const ordered_json& body, const RequestDefaults& defaults,
                                 Problem& problem) {
  const Fields fields(body, problem);
  ApiRequest request;
  ReadPrompts(fields, defaults, request);
  ReadSampling(fields, request, defaults);
  // OpenAI's default.
  request.max_tokens = std::min<uint64_t>(16, defaults.max_tokens);
  // 0: the client wants only the prompt's log-probabilities or echo.
  ReadMaxTokens(fields, "max_tokens", defaults, request, /*least=*/0);
  ReadStops(fields, "stop", request);
  ReadStream(fields, request);
  ReadChoices(fields, request);
  ReadBiases(fields, request, defaults.vocab_size);
  if (const auto top = fields.Integer("logprobs", 0, 5)) {
    request.sampling.logprobs = true;
    request.sampling.top_logprobs = static_cast<uint32_t>(*top);
  }
  ReadResponseFormat(fields, request);
  ReadBareForms(fields, request);
  request.echo = fields.Bool("echo").value_or(false);
  if (const auto suffix = fields.String("suffix"); suffix && !suffix->empty()) {
    for (RawPrompt& raw : request.raw) {
      if (!raw.ids.empty()) fields.Refuse("suffix", "not together with tokens; give a text");
      raw.suffix = *suffix;
    }
    if (request.echo) fields.Refuse("echo", "not together with suffix");
  }
  if (fields.Integer("best_of", 1, kMaxChoices).value_or(1) > request.choices) {
    fields.Refuse("best_of", "is not supported beyond n");
  }
  request.user = fields.String("user").value_or("");
  return request;
}

}  // namespace aster::serve
