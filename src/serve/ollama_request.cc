// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "serve/ollama.h"
#include "serve/shared_fields.h"
#include "serve/tool_fields.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

// The calls of the messages so far.
class CallsSoFar {
 public:
  void Add(const std::string& id, const std::string& name) {
    by_id_[id].insert(calls_.size());
    by_name_[name].insert(calls_.size());
    calls_.push_back({id, name});
    waiting_.insert(waiting_.end(), calls_.size() - 1);
  }
  std::string NewId() { return fmt::format("call_{}", count_++); }

  // Takes the oldest call without a result that has the id, or else the name, and returns its id.
  std::optional<std::string> Take(const std::optional<std::string>& id,
                                  const std::optional<std::string>& name) {
    static const Places kNone;
    const Places& fitting = id     ? Of(by_id_, *id, kNone)
                            : name ? Of(by_name_, *name, kNone)
                                   : waiting_;
    if (fitting.empty()) return std::nullopt;
    const size_t first = *fitting.begin();
    const Call& call = calls_[first];
    by_id_[call.id].erase(first);
    by_name_[call.name].erase(first);
    waiting_.erase(first);
    return call.id;
  }

 private:
  using Places = std::set<size_t>;  // of calls without a result
  struct Call {
    std::string id;
    std::string name;
  };
  static const Places& Of(const std::map<std::string, Places>& all, const std::string& key,
                          const Places& none) {
    const auto found = all.find(key);
    return found == all.end() ? none : found->second;
  }

  std::vector<Call> calls_;  // all of them
  std::map<std::string, Places> by_id_;
  std::map<std::string, Places> by_name_;
  Places waiting_;
  size_t count_ = 0;
};

// Options of sampling and length; those of the machine (num_gpu, num_thread, …) and num_ctx are the
// server's and are ignored.
void ReadOptions(const Fields& fields, ApiRequest& request, const RequestDefaults& defaults) {
  static const ordered_json kNone = ordered_json::object();
  const ordered_json* options = fields.Object("options");
  const Fields inner(options == nullptr ? kNone : *options, fields.problem(), "options.");
  ReadLooseSampling(inner, request, defaults);
  ReadLooseLimit(inner, "num_predict", request);
  ReadStops(inner, "stop", request);
}

// "json", a schema, or an empty text.
void ReadOllamaFormat(const Fields& fields, ApiRequest& request) {
  const ordered_json* format = fields.Find("format");
  if (format == nullptr || *format == "") return;
  if (format->is_object()) {
    ReadSchema(fields, "format", request);
  } else if (*format == "json") {
    static const ordered_json kJsonObject = {{"type", "json_object"}};
    ReadFormat(Fields(kJsonObject, fields.problem()), nullptr, request);
    request.form_field = "format";
  } else {
    fields.Refuse("format", "give json or a JSON schema");
  }
}

void ReadThink(const Fields& fields, ApiRequest& request) {
  const ordered_json* think = fields.Find("think");
  if (think == nullptr) return;
  if (think->is_string()) return ReadEffort(fields, "think", request);
  if (const auto reasons = fields.Bool("think")) SetReasoning(*reasons, request);
}

void ReadCommon(const Fields& fields, ApiRequest& request, const RequestDefaults& defaults) {
  ReadOptions(fields, request, defaults);
  ReadOllamaFormat(fields, request);
  // With a form the answer has no reasoning.
  if (request.form == nullptr) ReadThink(fields, request);
  request.streams = fields.Bool("stream").value_or(true);
  request.sampling.logprobs = fields.Bool("logprobs").value_or(false);
  if (const auto top = fields.Integer("top_logprobs", 0, kMaxTopLogprobs))
    request.sampling.top_logprobs = static_cast<uint32_t>(*top);
}

void RefuseImages(const Fields& holder) {
  const ordered_json* images = holder.Array("images");
  if (images != nullptr && !images->empty())
    holder.Refuse("images", "this model reads texts; leave the images out");
}

void ReadOllamaCalls(const Fields& message, CallsSoFar& calls, ordered_json& out) {
  const ordered_json* list = message.Array("tool_calls");
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const std::string path = message.PathOf(fmt::format("tool_calls[{}]", i));
    const ordered_json& call = (*list)[i];
    if (!call.is_object()) return message.problem().Set(400, path, path + ": give an object");
    const Fields fields(call, message.problem(), path + ".");
    const ordered_json* function = fields.Object("function");
    if (function == nullptr) return fields.Refuse("function", "is missing");
    const Fields inner(*function, message.problem(), path + ".function.");
    const auto name = inner.String("name");
    if (!name) return inner.Refuse("name", "is missing");
    const ordered_json* arguments = inner.Object("arguments");
    // Calls may have no ids here: then their order identifies them.
    const std::string id = fields.String("id").value_or(calls.NewId());
    calls.Add(id, *name);
    out["tool_calls"].push_back(
        {{"id", id},
         {"type", "function"},
         {"function",
          {{"name", *name},
           {"arguments", arguments != nullptr ? *arguments : ordered_json::object()}}}});
  }
}

// The id of the call that a result belongs to: the one that it names, or the oldest.
std::string CallOfResult(const Fields& message, CallsSoFar& calls) {
  const auto id = message.String("tool_call_id");
  auto name = message.String("tool_name");
  if (!name) name = message.String("name");
  const auto call = calls.Take(id, name);
  if (!call) {
    message.Refuse(id     ? "tool_call_id"
                   : name ? "tool_name"
                          : "role",
                   "no call before it waits for this result");
    return "";
  }
  return *call;
}

ordered_json ReadOllamaMessage(const Fields& message, CallsSoFar& calls) {
  const std::string role = message.String("role").value_or("");
  RefuseImages(message);
  ordered_json out = {{"role", role}, {"content", message.String("content").value_or("")}};
  if (role == "assistant") {
    const auto reasoning = message.String("thinking");
    if (reasoning && !reasoning->empty()) out["reasoning_content"] = *reasoning;
    ReadOllamaCalls(message, calls, out);
  } else if (role == "tool") {
    out["tool_call_id"] = CallOfResult(message, calls);
  } else if (role != "system" && role != "user") {
    message.Refuse("role", "is none of system, user, assistant, tool");
  }
  return out;
}

}  // namespace

ApiRequest ReadOllamaChat(const ordered_json& body, const RequestDefaults& defaults,
                          Problem& problem) {
  const Fields fields(body, problem);
  ApiRequest request;
  CallsSoFar calls;
  const ordered_json* messages = fields.Array("messages");
  for (size_t i = 0; messages != nullptr && i < messages->size() && !problem.any(); ++i) {
    const std::string path = fmt::format("messages[{}]", i);
    if (!(*messages)[i].is_object()) {
      fields.Refuse(path, "give an object");
      break;
    }
    request.messages.push_back(
        ReadOllamaMessage(Fields((*messages)[i], problem, path + "."), calls));
  }
  // The answer continues the last message.
  request.continues = !request.messages.empty() && request.messages.back()["role"] == "assistant" &&
                      !request.messages.back().contains("tool_calls");
  ReadCommon(fields, request, defaults);
  ReadTools(fields, request);
  return request;
}

ApiRequest ReadOllamaGenerate(const ordered_json& body, const RequestDefaults& defaults,
                              Problem& problem) {
  const Fields fields(body, problem);
  ApiRequest request;
  request.prompt_field = "prompt";
  RefuseImages(fields);
  for (const char* key : {"context", "template"}) {
    const ordered_json* value = fields.Find(key);
    if (value != nullptr && !value->empty() && *value != "")
      fields.Refuse(key, "is not supported; send the conversation to /api/chat");
  }
  const std::string prompt = fields.String("prompt").value_or("");
  const std::string system = fields.String("system").value_or("");
  const std::string suffix = fields.String("suffix").value_or("");
  const bool is_raw = fields.Bool("raw").value_or(false);
  if (!suffix.empty()) {
    request.raw.push_back({.text = prompt, .suffix = suffix});
  } else if (is_raw && !prompt.empty()) {
    request.raw.push_back({.text = prompt});
  } else if (!prompt.empty()) {
    if (!system.empty()) request.messages.push_back({{"role", "system"}, {"content", system}});
    request.messages.push_back({{"role", "user"}, {"content", prompt}});
  }
  if (!request.raw.empty() && !system.empty())
    fields.Refuse("system", "is not for a raw prompt, nor for one with a suffix");
  ReadCommon(fields, request, defaults);
  return request;
}

}  // namespace aster::serve
