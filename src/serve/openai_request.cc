// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/openai_request.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "engine/stops.h"
#include "grammar/gbnf.h"
#include "grammar/json_schema.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxNameBytes = 256;
constexpr double kForbidden = -100;  // what OpenAI calls a ban

void ReadBiases(const Fields& fields, Ask& ask, uint32_t vocab_size) {
  const ordered_json* biases = fields.Object("logit_bias");
  if (biases == nullptr) return;
  for (const auto& [key, value] : biases->items()) {
    int32_t id = -1;
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
    const bool is_id = parsed.ec == std::errc() && parsed.ptr == key.data() + key.size() &&
                       id >= 0 && static_cast<uint32_t>(id) < vocab_size;
    if (!is_id)
      return fields.Refuse("logit_bias", fmt::format("\"{}\" is no token of this model", key));
    const double bias = value.is_number() ? value.get<double>() : 1000;
    if (!(bias >= -100 && bias <= 100)) {
      return fields.Refuse("logit_bias", "give numbers from -100 to 100");
    }
    ask.sampling.biases.push_back({.id = id,
                                   .bias = bias <= kForbidden
                                               ? -std::numeric_limits<float>::infinity()
                                               : static_cast<float>(bias)});
  }
}

void ReadStream(const Fields& fields, Ask& ask) {
  ask.streams = fields.Bool("stream").value_or(false);
  const ordered_json* options = fields.Object("stream_options");
  if (options == nullptr) return;
  const Fields inner(*options, fields.problem(), "stream_options.");
  ask.wants_usage = inner.Bool("include_usage").value_or(false);
}

void ReadChoices(const Fields& fields, Ask& ask) {
  ask.choices = static_cast<uint32_t>(fields.Integer("n", 1, kMaxChoices).value_or(1));
}

// Calls in a history.
void ReadCalls(const Fields& message, ordered_json& out) {
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
    list.push_back({{"id", fields.String("id").value_or("")},
                    {"type", "function"},
                    {"function", {{"name", *name}, {"arguments", std::move(written)}}}});
  }
  out["tool_calls"] = std::move(list);
}

ordered_json ReadMessage(const Fields& message) {
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
    auto thought = message.String("reasoning_content");
    if (!thought) thought = message.String("reasoning");
    if (thought) out["reasoning_content"] = *thought;
    ReadCalls(message, out);
  } else if (message.Find("content") == nullptr) {
    message.Refuse("content", "is missing");
  }
  if (role == "tool") {
    const auto id = message.String("tool_call_id");
    if (id) out["tool_call_id"] = *id;
    if (!id && *given == "tool") message.Refuse("tool_call_id", "is missing");
  }
  return out;
}

void ReadMessages(const Fields& fields, Ask& ask) {
  const ordered_json* messages = fields.Array("messages");
  if (messages == nullptr || messages->empty()) {
    return fields.Refuse("messages", "give at least one message");
  }
  for (size_t i = 0; i < messages->size(); ++i) {
    const ordered_json& message = (*messages)[i];
    const std::string path = fmt::format("messages[{}]", i);
    if (!message.is_object()) return fields.Refuse(path, "give an object");
    ask.messages.push_back(ReadMessage(Fields(message, fields.problem(), path + ".")));
    if (fields.problem().any()) return;
  }
}

// What older and other clients ask for, and would wait for in vain.
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

void ReadResponseFormat(const Fields& fields, Ask& ask) {
  const ordered_json* format = fields.Object("response_format");
  if (format == nullptr) return;
  ReadFormat(Fields(*format, fields.problem(), "response_format."), "json_schema", ask);
}

void ReadTemplateVariables(const Fields& fields, Ask& ask) {
  ReadEffort(fields, "reasoning_effort", ask);
  if (const auto thinks = fields.Bool("enable_thinking")) SetThinking(*thinks, ask);
  const ordered_json* more = fields.Object("chat_template_kwargs");
  if (more == nullptr) return;
  for (const auto& [key, value] : more->items()) {
    if (key == "messages" || key == "tools" || key == "add_generation_prompt") {
      return fields.Refuse("chat_template_kwargs", fmt::format("{} is not to be given here", key));
    }
    ask.variables[key] = value;
  }
}

// The names in a list of {"type": "function", "name"} or {…, "function": {"name"}}.
std::optional<std::vector<std::string>> NamesOf(const Fields& fields) {
  const ordered_json* list = fields.Array("tools");
  if (list == nullptr) return std::nullopt;
  std::vector<std::string> names;
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string path = fields.PathOf(fmt::format("tools[{}]", i));
    const ordered_json& one = (*list)[i];
    const ordered_json inner =
        one.is_object() ? one.value("function", one) : ordered_json::object();
    if (!inner.is_object() || !inner.value("name", ordered_json()).is_string()) {
      fields.problem().Set(400, path, path + ": name one of the tools");
      return std::nullopt;
    }
    names.push_back(inner["name"].get<std::string>());
  }
  return names;
}

bool IsATool(const Ask& ask, std::string_view name) {
  return std::ranges::any_of(ask.tools, [&](const ordered_json& tool) {
    return tool["function"]["name"].get_ref<const std::string&>() == name;
  });
}

// Of all tools, these are left.
void ReadAllowedTools(const Fields& choice, Ask& ask) {
  // Newer dialects leave out the object around them.
  const ordered_json* inside = choice.Object("allowed_tools");
  const Fields fields =
      inside == nullptr ? choice
                        : Fields(*inside, choice.problem(), choice.PathOf("allowed_tools") + ".");
  const std::string mode = fields.String("mode").value_or("auto");
  if (mode != "auto" && mode != "required") return fields.Refuse("mode", "give auto or required");
  const auto names = NamesOf(fields);
  if (fields.problem().any()) return;
  if (!names || names->empty()) return fields.Refuse("tools", "name at least one of the tools");
  ordered_json allowed = ordered_json::array();
  for (const std::string& name : *names) {
    if (!IsATool(ask, name)) return fields.Refuse("tools", name + " is none of the tools");
  }
  for (const ordered_json& tool : ask.tools) {
    const auto& name = tool["function"]["name"].get_ref<const std::string&>();
    if (std::ranges::find(*names, name) != names->end()) allowed.push_back(tool);
  }
  ask.tools = std::move(allowed);
  if (mode == "required") ask.tool_choice = ToolChoice::kRequired;
}

}  // namespace

void ReadMaxTokens(const Fields& fields, const char* key, const AskDefaults& defaults, Ask& ask) {
  const auto most = fields.Integer(key, 1, INT64_MAX);
  if (!most) return;
  ask.max_tokens = static_cast<uint64_t>(*most);
  if (defaults.context_limit == 0 || ask.max_tokens <= defaults.context_limit) return;
  const std::string path = fields.PathOf(key);
  fields.problem().Set(400, path,
                       fmt::format("{}: prompt and answer have to fit into {} tokens together",
                                   path, defaults.context_limit),
                       "context_length_exceeded");
}

void ReadToolChoice(const Fields& fields, Ask& ask) {
  const ordered_json* choice = fields.Find("tool_choice");
  if (choice == nullptr || *choice == "auto") return;
  if (*choice == "none") {
    ask.tool_choice = ToolChoice::kNone;
  } else if (*choice == "required") {
    ask.tool_choice = ToolChoice::kRequired;
    if (ask.tools.is_null()) fields.Refuse("tool_choice", "there are no tools");
  } else if (choice->is_object()) {
    const Fields inner(*choice, fields.problem(), fields.PathOf("tool_choice") + ".");
    if (inner.String("type") == "allowed_tools") return ReadAllowedTools(inner, ask);
    const ordered_json* function = inner.Object("function");
    const auto name =
        function != nullptr
            ? Fields(*function, fields.problem(), "tool_choice.function.").String("name")
            : inner.String("name");
    if (!name || !IsATool(ask, *name)) return fields.Refuse("tool_choice", "name one of the tools");
    ask.tool_choice = ToolChoice::kNamed;
    ask.tool_name = *name;
  } else {
    fields.Refuse("tool_choice",
                  "give auto, none, required, a function, or allowed_tools with some of them");
  }
}

void ReadFormat(const Fields& format, const char* schema_key, Ask& ask) {
  const auto type = format.String("type");
  if (!type) return format.Refuse("type", "is missing");
  if (*type == "text") return;
  if (*type == "json_object") {
    ask.form = grammar::JsonObjectGrammar();
    ask.form_field = format.PathOf("type");
  } else if (*type == "json_schema") {
    const ordered_json* inside = schema_key != nullptr ? format.Object(schema_key) : &format.json();
    if (inside == nullptr) return format.Refuse(schema_key, "is missing");
    const Fields holder(
        *inside, format.problem(),
        schema_key != nullptr ? format.PathOf(schema_key) + "." : format.PathOf(""));
    const auto schema = inside->find("schema");
    if (schema == inside->end()) return holder.Refuse("schema", "is missing");
    auto made = grammar::JsonSchemaGrammar(*schema);
    if (!made.ok()) return holder.Refuse("schema", made.error().message());
    ask.form = *std::move(made);
    ask.form_field = holder.PathOf("schema");
  } else {
    return format.Refuse("type", "is none of text, json_object, json_schema");
  }
  // What is to be of a form is all of the answer.
  SetThinking(false, ask);
}

void ReadEffort(const Fields& fields, const char* key, Ask& ask) {
  const auto effort = fields.String(key);
  if (!effort) return;
  constexpr std::string_view kEfforts[] = {"none", "minimal", "low", "medium",
                                           "high", "xhigh",   "max"};
  if (std::ranges::find(kEfforts, *effort) == std::end(kEfforts)) {
    return fields.Refuse(key, fmt::format("is none of {}", fmt::join(kEfforts, ", ")));
  }
  const bool thinks = *effort != "none" && *effort != "minimal";
  SetThinking(thinks, ask);
  if (thinks) ask.variables["reasoning_effort"] = *effort;
}

void ReadSampling(const Fields& fields, Ask& ask, const AskDefaults& defaults) {
  engine::SamplingOptions& sampling = ask.sampling;
  sampling = defaults.sampling;
  const auto take = [&](const char* key, double low, double high, float& value) {
    if (const auto number = fields.Number(key, low, high)) value = static_cast<float>(*number);
  };
  take("temperature", 0, 2, sampling.temperature);
  take("top_p", 0, 1, sampling.top_p);
  take("min_p", 0, 1, sampling.min_p);
  take("typical_p", 0, 1, sampling.typical_p);
  take("repetition_penalty", 0.01, 100, sampling.repetition_penalty);
  take("presence_penalty", -2, 2, sampling.presence_penalty);
  take("frequency_penalty", -2, 2, sampling.frequency_penalty);
  // None at all means the likeliest alone.
  if (sampling.top_p == 0) sampling.top_p = std::numeric_limits<float>::min();
  if (sampling.typical_p == 0) sampling.typical_p = std::numeric_limits<float>::min();
  // -1 is how some say all.
  if (const auto k = fields.Integer("top_k", -1, INT32_MAX)) {
    sampling.top_k = *k < 0 ? 0 : static_cast<uint32_t>(*k);
  }
  // Penalties of OpenAI look at the whole text.
  if (sampling.presence_penalty != 0 || sampling.frequency_penalty != 0)
    sampling.penalty_window = 0;
  const auto seed = fields.Integer("seed", INT64_MIN, INT64_MAX);
  sampling.seed = seed ? static_cast<uint64_t>(*seed) : SystemSeed() >> 11;
  ask.max_tokens = defaults.max_tokens;
  ask.ignores_end = fields.Bool("ignore_eos").value_or(false);
}

void ReadStops(const Fields& fields, const char* key, Ask& ask) {
  const ordered_json* stop = fields.Find(key);
  if (stop == nullptr) return;
  if (stop->is_string()) {
    ask.stops.push_back(stop->get<std::string>());
  } else if (stop->is_array()) {
    for (const ordered_json& text : *stop) {
      if (!text.is_string()) return fields.Refuse(key, "give texts");
      ask.stops.push_back(text.get<std::string>());
    }
  } else {
    return fields.Refuse(key, "give a text or a list of texts");
  }
  std::erase(ask.stops, "");
  const Status status = engine::CheckStopStrings(ask.stops);
  if (!status.ok()) fields.Refuse(key, status.error().message());
}

std::string ReadContent(const Fields& message, const char* key) {
  const ordered_json* content = message.Find(key);
  if (content == nullptr) return "";
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) {
    message.Refuse(key, "give a text or a list of parts");
    return "";
  }
  std::string text;
  for (size_t i = 0; i < content->size(); ++i) {
    const ordered_json& part = (*content)[i];
    const std::string path = message.PathOf(fmt::format("{}[{}]", key, i));
    if (!part.is_object()) {
      message.problem().Set(400, path, path + ": give an object");
      return "";
    }
    const Fields fields(part, message.problem(), path + ".");
    const std::string type = fields.String("type").value_or("");
    const bool is_refusal = type == "refusal";
    if (!is_refusal && type != "text" && type != "input_text" && type != "output_text") {
      fields.Refuse("type", fmt::format("this model reads texts, not \"{}\"", type));
      return "";
    }
    const auto piece = fields.String(is_refusal ? "refusal" : "text");
    if (!piece) fields.Refuse("text", "is missing");
    text += piece.value_or("");
  }
  return text;
}

void ReadTools(const Fields& fields, Ask& ask) {
  const ordered_json* tools = fields.Array("tools");
  if (tools == nullptr || tools->empty()) return;
  if (tools->size() > kMaxTools)
    return fields.Refuse("tools", fmt::format("at most {}", kMaxTools));
  ask.tools = ordered_json::array();
  for (size_t i = 0; i < tools->size(); ++i) {
    const std::string path = fmt::format("tools[{}]", i);
    if (!(*tools)[i].is_object()) return fields.Refuse(path, "give an object");
    const Fields tool((*tools)[i], fields.problem(), path + ".");
    if (tool.String("type") != "function") return tool.Refuse("type", "only function is supported");
    // Of the newer dialect the function's fields stand in the tool itself.
    const bool is_inside = tool.Find("function") != nullptr;
    const ordered_json* function = is_inside ? tool.Object("function") : &tool.json();
    if (function == nullptr) return;
    const Fields inner(*function, fields.problem(), path + (is_inside ? ".function." : "."));
    const auto name = inner.String("name");
    if (!name || name->empty() || name->size() > kMaxNameBytes)
      return inner.Refuse("name", "is missing or too long");
    ordered_json written = {{"name", *name}};
    if (const auto text = inner.String("description")) written["description"] = *text;
    if (inner.Bool("strict").value_or(false)) ask.strict_tools.push_back(*name);
    const ordered_json* parameters = inner.Object("parameters");
    written["parameters"] =
        parameters != nullptr
            ? *parameters
            : ordered_json{{"type", "object"}, {"properties", ordered_json::object()}};
    ask.tools.push_back({{"type", "function"}, {"function", std::move(written)}});
  }
}

void ReadGrammar(const Fields& fields, Ask& ask) {
  const auto text = fields.String("grammar");
  if (!text) return;
  auto grammar = grammar::ParseGbnf(*text);
  if (!grammar.ok()) return fields.Refuse("grammar", grammar.error().message());
  if (ask.form != nullptr) {
    return fields.Refuse("grammar", "not together with another form of answers");
  }
  ask.form = *std::move(grammar);
  ask.form_field = "grammar";
}

Ask ReadChatRequest(const ordered_json& body, const AskDefaults& defaults, Problem& problem) {
  const Fields fields(body, problem);
  Ask ask;
  ReadMessages(fields, ask);
  ReadSampling(fields, ask, defaults);
  ReadMaxTokens(fields, "max_tokens", defaults, ask);
  ReadMaxTokens(fields, "max_completion_tokens", defaults, ask);
  RefuseWhatIsNotDone(fields);
  ReadStops(fields, "stop", ask);
  ReadStream(fields, ask);
  ReadChoices(fields, ask);
  ReadBiases(fields, ask, defaults.vocab_size);
  ReadTools(fields, ask);
  ReadToolChoice(fields, ask);
  ReadTemplateVariables(fields, ask);
  ReadResponseFormat(fields, ask);
  ReadGrammar(fields, ask);
  ask.parallel_calls = fields.Bool("parallel_tool_calls").value_or(true);
  ask.sampling.logprobs = fields.Bool("logprobs").value_or(false);
  if (const auto top = fields.Integer("top_logprobs", 0, kMaxTopLogprobs)) {
    if (!ask.sampling.logprobs && *top > 0)
      fields.Refuse("top_logprobs", "needs logprobs to be true");
    ask.sampling.top_logprobs = static_cast<uint32_t>(*top);
  }
  ask.user = fields.String("user").value_or("");
  return ask;
}

Ask ReadCompletionRequest(const ordered_json& body, const AskDefaults& defaults, Problem& problem) {
  const Fields fields(body, problem);
  Ask ask;
  ask.prompt_field = "prompt";
  const ordered_json* prompt = fields.Find("prompt");
  const auto take_ids = [&](const ordered_json& list) {
    RawPrompt raw;
    for (const ordered_json& id : list) {
      const bool is_id = id.is_number_unsigned() && id.get<uint64_t>() < defaults.vocab_size;
      if (!is_id) return fields.Refuse("prompt", "a token that this model does not have");
      raw.ids.push_back(id.get<int32_t>());
    }
    ask.raw.push_back(std::move(raw));
  };
  if (prompt != nullptr && prompt->is_string()) {
    ask.raw.push_back({.text = prompt->get<std::string>(), .ids = {}});
  } else if (prompt != nullptr && prompt->is_array() && !prompt->empty() &&
             (*prompt)[0].is_number()) {
    take_ids(*prompt);
  } else if (prompt != nullptr && prompt->is_array() && !prompt->empty() &&
             prompt->size() <= kMaxChoices) {
    for (const ordered_json& one : *prompt) {
      if (one.is_string()) {
        ask.raw.push_back({.text = one.get<std::string>(), .ids = {}});
      } else if (one.is_array() && !one.empty()) {
        take_ids(one);
      } else {
        fields.Refuse("prompt", "give texts or lists of tokens");
      }
    }
  } else {
    fields.Refuse("prompt",
                  fmt::format("give a text, tokens, or a list of at most {} of them", kMaxChoices));
  }
  ReadSampling(fields, ask, defaults);
  // OpenAI's own default.
  ask.max_tokens = std::min<uint64_t>(16, defaults.max_tokens);
  ReadMaxTokens(fields, "max_tokens", defaults, ask);
  ReadStops(fields, "stop", ask);
  ReadStream(fields, ask);
  ReadChoices(fields, ask);
  ReadBiases(fields, ask, defaults.vocab_size);
  if (const auto top = fields.Integer("logprobs", 0, 5)) {
    ask.sampling.logprobs = true;
    ask.sampling.top_logprobs = static_cast<uint32_t>(*top);
  }
  ReadGrammar(fields, ask);
  ask.echo = fields.Bool("echo").value_or(false);
  if (ask.echo && ask.sampling.logprobs) fields.Refuse("echo", "not together with logprobs");
  if (!fields.String("suffix").value_or("").empty()) fields.Refuse("suffix", "is not supported");
  if (fields.Integer("best_of", 1, kMaxChoices).value_or(1) > ask.choices) {
    fields.Refuse("best_of", "is not supported beyond n");
  }
  ask.user = fields.String("user").value_or("");
  return ask;
}

}  // namespace aster::serve
