// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/openai_reply.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/utf8.h"
#include "serve/timings.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;
using Kind = chat::ReplyEvent::Kind;

const char* FinishReason(EndReason reason) {
  switch (reason) {
    case EndReason::kLength:
      return "length";
    case EndReason::kCalls:
      return "tool_calls";
    default:
      return "stop";
  }
}

ordered_json UsageOf(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt},
          {"completion_tokens", usage.answer},
          {"total_tokens", usage.prompt + usage.answer},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached}}},
          {"completion_tokens_details",
           {{"reasoning_tokens", usage.reasoning},
            {"accepted_prediction_tokens", usage.accepted},
            {"rejected_prediction_tokens", usage.rejected()}}}};
}

ordered_json BytesJson(const std::string& bytes) {
  ordered_json list = ordered_json::array();
  for (const char c : bytes) list.push_back(static_cast<uint8_t>(c));
  return list;
}

ordered_json ChatLogprobs(std::span<const ResponseToken> tokens) {
  return {{"content", LogprobsJson(tokens)}, {"refusal", nullptr}};
}

// JSON has no infinity: OpenAI's API has this number for tokens of no probability.
float FiniteLogprob(float logprob) { return std::max(logprob, -9999.0f); }

}  // namespace

ordered_json LogprobsJson(std::span<const ResponseToken> tokens) {
  const auto one = [](const respond::TokenWithLogprob& token) -> ordered_json {
    return {{"token", ToValidUtf8(token.bytes)},
            {"logprob", FiniteLogprob(token.logprob)},
            {"bytes", BytesJson(token.bytes)}};
  };
  ordered_json content = ordered_json::array();
  for (const ResponseToken& token : tokens) {
    ordered_json json = one(token);
    json["top_logprobs"] = ordered_json::array();
    for (const respond::TokenWithLogprob& top : token.top) json["top_logprobs"].push_back(one(top));
    content.push_back(std::move(json));
  }
  return content;
}

namespace {

// Characters by their first byte, as tokens may share one.
size_t CharactersOf(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

ordered_json CompletionLogprobs(std::span<const ResponseToken> tokens, size_t& offset) {
  ordered_json texts = ordered_json::array();
  ordered_json logprobs = ordered_json::array();
  ordered_json tops = ordered_json::array();
  ordered_json offsets = ordered_json::array();
  for (const ResponseToken& token : tokens) {
    texts.push_back(ToValidUtf8(token.bytes));
    logprobs.push_back(std::isnan(token.logprob) ? ordered_json()
                                                 : ordered_json(FiniteLogprob(token.logprob)));
    ordered_json top = ordered_json::object();
    for (const respond::TokenWithLogprob& other : token.top)
      top[ToValidUtf8(other.bytes)] = FiniteLogprob(other.logprob);
    // A text's first token has no probability, as it follows nothing.
    const bool is_first = std::isnan(token.logprob);
    tops.push_back(is_first ? ordered_json() : std::move(top));
    offsets.push_back(offset);
    offset += CharactersOf(token.bytes);
  }
  return {{"tokens", std::move(texts)},
          {"token_logprobs", std::move(logprobs)},
          {"top_logprobs", std::move(tops)},
          {"text_offset", std::move(offsets)}};
}

ordered_json CallJson(const Call& call) {
  return {{"id", call.id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

ordered_json Head(const ReplyFrame& frame, const char* object) {
  return {{"id", frame.id},
          {"object", object},
          {"created", frame.created_s},
          {"model", frame.model},
          {"system_fingerprint",
           frame.fingerprint.empty() ? ordered_json() : ordered_json(frame.fingerprint)}};
}

// The reply without streaming.
class ChatAtOnce final : public CollectingWriter {
 public:
  ChatAtOnce(ReplyFrame frame, const ApiRequest& request)
      : CollectingWriter(std::move(frame), request.choices),
        has_logprobs_(request.sampling.logprobs) {}

  void Finish(const Usage& usage) override {
    ordered_json choices = ordered_json::array();
    for (size_t i = 0; i < replies_.size(); ++i) {
      const ChoiceReply& said = replies_[i];
      ordered_json message = {
          {"role", "assistant"}, {"content", said.content}, {"refusal", nullptr}};
      if (said.content.empty() && !said.calls.empty()) message["content"] = nullptr;
      if (!said.reasoning.empty()) message["reasoning_content"] = said.reasoning;
      for (const Call& call : said.calls) message["tool_calls"].push_back(CallJson(call));
      choices.push_back({{"index", i},
                         {"message", std::move(message)},
                         {"logprobs", has_logprobs_ ? ChatLogprobs(said.tokens) : ordered_json()},
                         {"finish_reason", FinishReason(said.reason)}});
      if (said.ensemble) choices.back()["ensemble"] = *said.ensemble;
    }
    ordered_json json = Head(frame_, "chat.completion");
    json["choices"] = std::move(choices);
    json["usage"] = UsageOf(usage);
    json["timings"] = TimingsJson(usage);
    SendJson(200, json);
  }
  void Fail(const Problem& problem) override {
    SendProblem(*frame_.stream, problem, ProblemForm::kOpenAi);
  }

 private:
  const bool has_logprobs_;
};

class CompletionAtOnce final : public CollectingWriter {
 public:
  CompletionAtOnce(ReplyFrame frame, const ApiRequest& request, size_t choices,
                   std::vector<Echo> echoes)
      : CollectingWriter(std::move(frame), choices),
        has_logprobs_(request.sampling.logprobs),
        echoes_(std::move(echoes)) {}

  void Finish(const Usage& usage) override {
    ordered_json choices = ordered_json::array();
    for (size_t i = 0; i < replies_.size(); ++i) {
      const ChoiceReply& said = replies_[i];
      const Echo echo = echoes_.empty() ? Echo() : echoes_[i];
      std::vector<ResponseToken> tokens = echo.tokens;
      tokens.insert(tokens.end(), said.tokens.begin(), said.tokens.end());
      size_t offset = 0;
      choices.push_back(
          {{"text", echo.text + said.content},
           {"index", i},
           {"logprobs", has_logprobs_ ? CompletionLogprobs(tokens, offset) : ordered_json()},
           {"finish_reason", FinishReason(said.reason)}});
      if (said.ensemble) choices.back()["ensemble"] = *said.ensemble;
    }
    ordered_json json = Head(frame_, "text_completion");
    json["choices"] = std::move(choices);
    json["usage"] = UsageOf(usage);
    json["timings"] = TimingsJson(usage);
    SendJson(200, json);
  }
  void Fail(const Problem& problem) override {
    SendProblem(*frame_.stream, problem, ProblemForm::kOpenAi);
  }

 private:
  const bool has_logprobs_;
  const std::vector<Echo> echoes_;
};

// The common part of both kinds of streams.
class Streaming : public ReplyWriter {
 public:
  Streaming(ReplyFrame frame, const ApiRequest& request, const char* object)
      : frame_(std::move(frame)),
        pieces_(frame_.stream, PiecesOfReply::Format::kEvents),
        object_(object),
        has_logprobs_(request.sampling.logprobs),
        wants_usage_(request.wants_usage) {}

  void Await() override { pieces_.KeepAlive(); }
  void Explain(size_t /*choice*/, JsonPtr ensemble) override { ensemble_ = std::move(ensemble); }
  void Finish(const Usage& usage) override {
    if (wants_usage_) {
      ordered_json json = Head(frame_, object_);
      json["choices"] = ordered_json::array();
      json["usage"] = UsageOf(usage);
      json["timings"] = TimingsJson(usage);
      Send(json);
    }
    pieces_.Write("data: [DONE]\n\n");
    pieces_.End();
  }
  void Fail(const Problem& problem) override {
    if (pieces_.Refuse(problem, ProblemForm::kOpenAi)) return;
    Send(ProblemJson(problem, ProblemForm::kOpenAi));
    pieces_.End();
  }

 protected:
  void Send(const ordered_json& json) { pieces_.Write(ServerEvent("", json)); }
  void SendChoice(ordered_json choice) { SendChoice(std::move(choice), ordered_json::object()); }
  // The end of a choice, with its explanation.
  void SendEnd(ordered_json choice) {
    if (ensemble_) choice["ensemble"] = *std::exchange(ensemble_, nullptr);
    SendChoice(std::move(choice));
  }
  // With these additional fields.
  void SendChoice(ordered_json choice, const ordered_json& more) {
    ordered_json json = Head(frame_, object_);
    json.update(more);
    json["choices"] = ordered_json::array({std::move(choice)});
    if (wants_usage_) json["usage"] = nullptr;
    Send(json);
  }

  const ReplyFrame frame_;
  PiecesOfReply pieces_;
  const char* const object_;
  const bool has_logprobs_;
  const bool wants_usage_;
  JsonPtr ensemble_;  // of the next choice
};

class ChatStream final : public Streaming {
 public:
  ChatStream(ReplyFrame frame, const ApiRequest& request)
      : Streaming(std::move(frame), request, "chat.completion.chunk"),
        calls_(request.choices, -1) {}

  void Begin(const Usage& /*usage*/) override {
    for (size_t i = 0; i < calls_.size(); ++i) {
      SendDelta(i, {{"role", "assistant"}, {"content", ""}}, {});
    }
  }
  void Progress(const PromptProgress& progress) override {
    SendChoice({{"index", 0},
                {"delta", ordered_json::object()},
                {"logprobs", nullptr},
                {"finish_reason", nullptr}},
               {{"prompt_progress", ProgressJson(progress)}});
  }
  void WritePiece(size_t choice, std::span<const chat::ReplyEvent> events,
                  std::span<const ResponseToken> tokens) override {
    for (const chat::ReplyEvent& event : events) {
      ordered_json delta = DeltaOf(choice, event);
      if (delta.is_null()) continue;
      SendDelta(choice, std::move(delta), std::exchange(tokens, {}));
    }
    // Tokens whose text is held back still have log-probabilities.
    if (!tokens.empty()) SendDelta(choice, {{"content", ""}}, tokens);
  }
  void EndChoice(size_t choice, EndReason reason, const std::string& /*stop_string*/) override {
    SendEnd({{"index", choice},
             {"delta", ordered_json::object()},
             {"logprobs", nullptr},
             {"finish_reason", FinishReason(reason)}});
  }

 private:
  ordered_json DeltaOf(size_t choice, const chat::ReplyEvent& event) {
    switch (event.kind) {
      case Kind::kContent:
        return {{"content", event.text}};
      case Kind::kReasoning:
        return {{"reasoning_content", event.text}};
      case Kind::kCallBegin: {
        ordered_json call = {{"index", ++calls_[choice]}};
        call.update(CallJson({.id = event.id, .name = event.text, .arguments = ""}));
        return {{"tool_calls", ordered_json::array({std::move(call)})}};
      }
      case Kind::kArguments:
        return {{"tool_calls", ordered_json::array({{{"index", calls_[choice]},
                                                     {"function", {{"arguments", event.text}}}}})}};
      case Kind::kCallEnd:
        break;
    }
    return nullptr;
  }
  void SendDelta(size_t choice, ordered_json delta, std::span<const ResponseToken> tokens) {
    SendChoice(
        {{"index", choice},
         {"delta", std::move(delta)},
         {"logprobs", has_logprobs_ && !tokens.empty() ? ChatLogprobs(tokens) : ordered_json()},
         {"finish_reason", nullptr}});
  }

  std::vector<int> calls_;  // the index of the last call, per choice
};

class CompletionStream final : public Streaming {
 public:
  CompletionStream(ReplyFrame frame, const ApiRequest& request, size_t choices,
                   std::vector<Echo> echoes)
      : Streaming(std::move(frame), request, "text_completion"),
        echoes_(std::move(echoes)),
        offsets_(choices) {}

  void Begin(const Usage& /*usage*/) override {
    for (size_t i = 0; i < echoes_.size(); ++i) {
      SendText(i, echoes_[i].text, echoes_[i].tokens);
    }
  }
  void Progress(const PromptProgress& progress) override {
    SendChoice({{"text", ""}, {"index", 0}, {"logprobs", nullptr}, {"finish_reason", nullptr}},
               {{"prompt_progress", ProgressJson(progress)}});
  }
  void WritePiece(size_t choice, std::span<const chat::ReplyEvent> events,
                  std::span<const ResponseToken> tokens) override {
    std::string text;
    for (const chat::ReplyEvent& event : events) text += event.text;
    if (!text.empty() || !tokens.empty()) SendText(choice, text, tokens);
  }
  void EndChoice(size_t choice, EndReason reason, const std::string& /*stop_string*/) override {
    SendEnd({{"text", ""},
             {"index", choice},
             {"logprobs", nullptr},
             {"finish_reason", FinishReason(reason)}});
  }

 private:
  void SendText(size_t choice, const std::string& text, std::span<const ResponseToken> tokens) {
    const bool shows = has_logprobs_ && !tokens.empty();
    SendChoice({{"text", text},
                {"index", choice},
                {"logprobs", shows ? CompletionLogprobs(tokens, offsets_[choice]) : ordered_json()},
                {"finish_reason", nullptr}});
  }

  const std::vector<Echo> echoes_;
  std::vector<size_t> offsets_;
};

}  // namespace

std::unique_ptr<ReplyWriter> MakeChatWriter(ReplyFrame frame, const ApiRequest& request) {
  if (request.streams) return std::make_unique<ChatStream>(std::move(frame), request);
  return std::make_unique<ChatAtOnce>(std::move(frame), request);
}

std::unique_ptr<ReplyWriter> MakeCompletionWriter(ReplyFrame frame, const ApiRequest& request,
                                                  size_t choices, std::vector<Echo> echoes) {
  if (request.streams) {
    return std::make_unique<CompletionStream>(std::move(frame), request, choices,
                                              std::move(echoes));
  }
  return std::make_unique<CompletionAtOnce>(std::move(frame), request, choices, std::move(echoes));
}

}  // namespace aster::serve
