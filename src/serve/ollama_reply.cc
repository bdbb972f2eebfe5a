// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_limits.h"
#include "base/units.h"
#include "serve/ollama.h"
#include "serve/openai_reply.h"
#include "serve/timings.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;
using Kind = chat::ReplyEvent::Kind;

const char* DoneReason(EndReason reason) {
  return reason == EndReason::kLength ? "length" : "stop";
}

ordered_json CallJsonOf(const Call& call) {
  ordered_json arguments = ordered_json::object();
  if (JsonLimits().Check(call.arguments).ok()) {
    ordered_json parsed = ordered_json::parse(call.arguments, nullptr, /*allow_exceptions=*/false);
    // A truncated call has only the beginning of its arguments.
    if (parsed.is_object()) arguments = std::move(parsed);
  }
  return {{"id", call.id},
          {"function", {{"name", call.name}, {"arguments", std::move(arguments)}}}};
}

// One document of an answer: a piece of it, or all.
class Document {
 public:
  Document(const ReplyFrame& frame, OllamaKind kind) : kind_(kind) {
    json_ = {{"model", frame.model}, {"created_at", TimeText(frame.created_s)}};
  }

  Document& With(const respond::Reply& reply) {
    ordered_json* said = &json_;
    const bool is_chat = kind_ == OllamaKind::kChat;
    if (is_chat) {
      said = &json_["message"];
      (*said)["role"] = "assistant";
    }
    (*said)[is_chat ? "content" : "response"] = reply.content;
    if (!reply.reasoning.empty()) (*said)["thinking"] = reply.reasoning;
    for (const Call& call : reply.calls) (*said)["tool_calls"].push_back(CallJsonOf(call));
    if (!reply.tokens.empty()) json_["logprobs"] = LogprobsJson(reply.tokens);
    json_["done"] = false;
    return *this;
  }
  Document& Done(EndReason reason, const Usage& usage) {
    const engine::RequestTimes& times = usage.times;
    Done(DoneReason(reason));
    json_["total_duration"] = times.waited_ns + times.prefill_ns + times.decode_ns;
    json_["load_duration"] = 0;
    json_["prompt_eval_count"] = usage.prompt;
    json_["prompt_eval_duration"] = times.prefill_ns;
    json_["eval_count"] = usage.answer;
    json_["eval_duration"] = times.decode_ns;
    json_["timings"] = TimingsJson(usage);
    return *this;
  }
  Document& By(const JsonPtr& ensemble) {
    if (ensemble) json_["ensemble"] = *ensemble;
    return *this;
  }
  Document& Done(const char* reason) {
    json_["done"] = true;
    json_["done_reason"] = reason;
    return *this;
  }
  const ordered_json& json() const { return json_; }

 private:
  const OllamaKind kind_;
  ordered_json json_;
};

class OllamaAtOnce final : public CollectingWriter {
 public:
  OllamaAtOnce(ReplyFrame frame, OllamaKind kind)
      : CollectingWriter(std::move(frame), 1), kind_(kind) {}

  void Finish(const Usage& usage) override {
    const ChoiceReply& said = replies_.front();
    SendJson(200,
             Document(frame_, kind_).With(said).Done(said.reason, usage).By(said.ensemble).json());
  }
  void Fail(const Problem& problem) override {
    SendProblem(*frame_.stream, problem, ProblemForm::kOllama);
  }

 private:
  const OllamaKind kind_;
};

class OllamaStream final : public ReplyWriter {
 public:
  OllamaStream(ReplyFrame frame, OllamaKind kind)
      : frame_(std::move(frame)),
        kind_(kind),
        pieces_(frame_.stream, PiecesOfReply::Format::kLines) {}

  void Await() override { pieces_.KeepAlive(); }
  void Begin(const Usage& /*usage*/) override {}
  void WritePiece(size_t /*choice*/, std::span<const chat::ReplyEvent> events,
                  std::span<const ResponseToken> tokens) override {
    respond::Reply piece;
    for (const chat::ReplyEvent& event : events) {
      // A call is sent once it is complete.
      if (event.kind == Kind::kCallBegin || event.kind == Kind::kArguments) {
        call_.Add({&event, 1});
      } else if (event.kind == Kind::kCallEnd) {
        TakeCall(piece);
      } else {
        piece.Add({&event, 1});
      }
    }
    piece.tokens.assign(tokens.begin(), tokens.end());
    Send(piece);
  }
  void Explain(size_t /*choice*/, JsonPtr ensemble) override { ensemble_ = std::move(ensemble); }
  void EndChoice(size_t /*choice*/, EndReason reason, const std::string& /*stop_string*/) override {
    respond::Reply piece;
    TakeCall(piece);
    Send(piece);
    reason_ = reason;
  }
  void Finish(const Usage& usage) override {
    Write(Document(frame_, kind_).With({}).Done(reason_, usage).By(ensemble_).json());
    pieces_.End();
  }
  void Fail(const Problem& problem) override {
    if (pieces_.Refuse(problem, ProblemForm::kOllama)) return;
    Write(ProblemJson(problem, ProblemForm::kOllama));
    pieces_.End();
  }

 private:
  void TakeCall(respond::Reply& piece) {
    respond::Reply taken = std::exchange(call_, {});
    piece.calls.insert(piece.calls.end(), taken.calls.begin(), taken.calls.end());
  }
  void Send(const respond::Reply& piece) {
    const bool is_empty = piece.content.empty() && piece.reasoning.empty() && piece.calls.empty() &&
                          piece.tokens.empty();
    if (!is_empty) Write(Document(frame_, kind_).With(piece).json());
  }
  void Write(const ordered_json& json) { pieces_.Write(DumpJson(json) + "\n"); }

  const ReplyFrame frame_;
  const OllamaKind kind_;
  PiecesOfReply pieces_;
  respond::Reply call_;  // the call being received
  EndReason reason_ = EndReason::kStop;
  JsonPtr ensemble_;
};

ordered_json DetailsJson(const ModelFacts& facts) {
  return {{"parent_model", ""},
          {"format", "gguf"},
          {"family", facts.architecture},
          {"families", ordered_json::array({facts.architecture})},
          {"parameter_size", FormatCount(facts.parameters)},
          {"quantization_level", facts.type}};
}

}  // namespace

std::unique_ptr<ReplyWriter> MakeOllamaWriter(ReplyFrame frame, const ApiRequest& request,
                                              OllamaKind kind) {
  if (request.streams) return std::make_unique<OllamaStream>(std::move(frame), kind);
  return std::make_unique<OllamaAtOnce>(std::move(frame), kind);
}

ordered_json OllamaLoadedJson(const ReplyFrame& frame, OllamaKind kind) {
  return Document(frame, kind).With({}).Done("load").json();
}

ordered_json OllamaModelJson(const std::string& name, const ModelFacts& facts) {
  // In the form of its clients: with a tag.
  const std::string tagged = name.find(':') == std::string::npos ? name + ":latest" : name;
  return {{"name", tagged},
          {"model", tagged},
          {"modified_at", TimeText(facts.modified_s)},
          {"size", facts.bytes},
          {"digest", facts.fingerprint},
          {"details", DetailsJson(facts)}};
}

ordered_json OllamaShowJson(const ModelFacts& facts, bool has_tools, bool reasons,
                            bool fills_gaps) {
  ordered_json capabilities = ordered_json::array({"completion"});
  if (has_tools) capabilities.push_back("tools");
  if (reasons) capabilities.push_back("thinking");
  if (fills_gaps) capabilities.push_back("insert");
  return {{"modelfile", ""},
          {"parameters", ""},
          {"template", facts.chat_template},
          {"details", DetailsJson(facts)},
          {"model_info",
           {{"general.architecture", facts.architecture},
            {"general.parameter_count", facts.parameters},
            {facts.architecture + ".block_count", facts.layers},
            {facts.architecture + ".context_length", facts.trained_context},
            {facts.architecture + ".embedding_length", facts.embedding}}},
          {"capabilities", std::move(capabilities)},
          {"modified_at", TimeText(facts.modified_s)}};
}

}  // namespace aster::serve
