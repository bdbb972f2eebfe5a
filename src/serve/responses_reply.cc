// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "serve/openai_reply.h"
#include "serve/responses.h"
#include "serve/timings.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;
using Kind = chat::ReplyEvent::Kind;

// Fields that are repeated from the request, with the values used if they are absent.
constexpr std::pair<const char*, const char*> kRepeated[] = {
    {"instructions", "null"},
    {"max_output_tokens", "null"},
    {"max_tool_calls", "null"},
    {"metadata", "{}"},
    {"parallel_tool_calls", "true"},
    {"previous_response_id", "null"},
    {"reasoning", R"({"effort": null, "summary": null})"},
    {"temperature", "null"},
    {"text", R"({"format": {"type": "text"}})"},
    {"tool_choice", "\"auto\""},
    {"tools", "[]"},
    {"top_logprobs", "0"},
    {"top_p", "null"},
    {"user", "null"}};

// For both modes: a stream sends the items as they grow, a whole reply has them at the end.
class ResponsesWriter final : public ReplyWriter {
 public:
  ResponsesWriter(ReplyFrame frame, const ApiRequest& request, const ordered_json& body,
                  ResponseKeeper keep)
      : frame_(std::move(frame)), keep_(std::move(keep)), is_background_(request.is_background) {
    if (request.streams) pieces_.emplace(frame_.stream, PiecesOfReply::Format::kEvents);
    response_ = {{"id", frame_.id},
                 {"object", "response"},
                 {"created_at", frame_.created_s},
                 {"status", "in_progress"},
                 {"error", nullptr},
                 {"incomplete_details", nullptr},
                 {"model", frame_.model},
                 {"output", ordered_json::array()}};
    for (const auto& [key, absent] : kRepeated) {
      const auto found = body.find(key);
      const bool is_given = found != body.end() && !found->is_null();
      response_[key] = is_given ? *found : ordered_json::parse(absent);
    }
    // The same for every request: nothing is cut out of long conversations.
    response_["background"] = is_background_;
    response_["service_tier"] = "default";
    response_["store"] = keep_ != nullptr;
    response_["truncation"] = "disabled";
    response_["usage"] = nullptr;
    if (is_background_) KeepAs("queued");
  }

  void Await() override {
    if (pieces_) pieces_->KeepAlive();
  }
  void Begin(const Usage& /*usage*/) override {
    if (is_background_) KeepAs("in_progress");
    Send("response.created", {{"response", response_}});
    Send("response.in_progress", {{"response", response_}});
  }

  void WritePiece(size_t /*choice*/, std::span<const chat::ReplyEvent> events,
                  std::span<const ResponseToken> tokens) override {
    // Tokens whose text is held back are sent with the next text.
    waiting_.insert(waiting_.end(), tokens.begin(), tokens.end());
    for (const chat::ReplyEvent& event : events) {
      // Only tokens of messages are reported.
      if (event.kind != Kind::kContent) waiting_.clear();
      switch (event.kind) {
        case Kind::kContent:
          Open(Item::kMessage, "", "");
          GrowMessage(event.text);
          break;
        case Kind::kReasoning:
          Open(Item::kReasoning, "", "");
          Grow("response.reasoning_text.delta", event.text);
          break;
        case Kind::kCallBegin:
          Close();
          Open(Item::kCall, event.text, event.id);
          break;
        case Kind::kArguments:
          Grow("response.function_call_arguments.delta", event.text);
          break;
        case Kind::kCallEnd:
          Close();
          break;
      }
    }
  }

  void Explain(size_t /*choice*/, JsonPtr ensemble) override { response_["ensemble"] = *ensemble; }
  void EndChoice(size_t /*choice*/, EndReason reason, const std::string& /*stop_string*/) override {
    is_whole_ = reason != EndReason::kLength;
    if (response_["output"].empty() && open_ == Item::kNone) Open(Item::kMessage, "", "");
    Close();
  }

  void Finish(const Usage& usage) override {
    response_["status"] = is_whole_ ? "completed" : "incomplete";
    if (!is_whole_) response_["incomplete_details"] = {{"reason", "max_output_tokens"}};
    response_["usage"] = {{"input_tokens", usage.prompt},
                          {"input_tokens_details", {{"cached_tokens", usage.cached}}},
                          {"output_tokens", usage.answer},
                          {"output_tokens_details",
                           {{"reasoning_tokens", usage.reasoning},
                            {"accepted_prediction_tokens", usage.accepted},
                            {"rejected_prediction_tokens", usage.rejected()}}},
                          {"total_tokens", usage.prompt + usage.answer}};
    response_["timings"] = TimingsJson(usage);
    if (keep_) keep_(response_);
    if (!pieces_) {
      return frame_.stream->Send(200, "application/json", DumpJson(response_));
    }
    Send(is_whole_ ? "response.completed" : "response.incomplete", {{"response", response_}});
    pieces_->End();
  }

  void Fail(const Problem& problem) override {
    if (pieces_ && pieces_->Refuse(problem, ProblemForm::kOpenAi)) return;
    // Keep-alives may begin a stream before the response begins.
    if (pieces_ && sequence_ == 0) Begin({});
    const char* const code = problem.status < 500 ? "invalid_prompt" : "server_error";
    response_["error"] = {{"code", code}, {"message", problem.message}};
    if (is_background_) KeepAs("failed");
    if (!pieces_) return SendProblem(*frame_.stream, problem, ProblemForm::kOpenAi);
    response_["status"] = "failed";
    Send("response.failed", {{"response", response_}});
    pieces_->End();
  }

 private:
  enum class Item : uint8_t { kNone, kMessage, kReasoning, kCall };

  void KeepAs(const char* status) {
    response_["status"] = status;
    keep_(response_);
  }
  void Send(const char* type, ordered_json fields) {
    if (!pieces_) return;
    ordered_json json = {{"type", type}, {"sequence_number", sequence_++}};
    json.update(fields);
    pieces_->Write(ServerEvent(type, json));
  }
  // The beginning of an event about the open item.
  ordered_json About() const {
    ordered_json json = {{"item_id", item_["id"]}, {"output_index", response_["output"].size()}};
    if (open_ != Item::kCall) json["content_index"] = 0;
    return json;
  }
  ordered_json With(ordered_json json, const char* key, ordered_json value) const {
    json[key] = std::move(value);
    return json;
  }
  ordered_json Part() const {
    if (open_ == Item::kReasoning) return {{"type", "reasoning_text"}, {"text", text_}};
    return {{"type", "output_text"},
            {"text", text_},
            {"annotations", ordered_json::array()},
            {"logprobs", logprobs_}};
  }

  void Open(Item item, const std::string& name, const std::string& call_id) {
    if (open_ == item) return;
    Close();
    open_ = item;
    text_.clear();
    logprobs_ = ordered_json::array();
    const std::string id = fmt::format("{}_{}", frame_.id.substr(5), response_["output"].size());
    if (item == Item::kMessage) {
      item_ = {{"id", "msg_" + id},
               {"type", "message"},
               {"status", "in_progress"},
               {"role", "assistant"},
               {"content", ordered_json::array()}};
    } else if (item == Item::kReasoning) {
      item_ = {{"id", "rs_" + id},
               {"type", "reasoning"},
               {"summary", ordered_json::array()},
               {"content", ordered_json::array()}};
    } else {
      item_ = {{"id", "fc_" + id},
               {"type", "function_call"},
               {"status", "in_progress"},
               {"call_id", call_id},
               {"name", name},
               {"arguments", ""}};
    }
    Send("response.output_item.added",
         {{"output_index", response_["output"].size()}, {"item", item_}});
    if (item != Item::kCall) Send("response.content_part.added", With(About(), "part", Part()));
  }

  void Grow(const char* type, const std::string& text) {
    text_ += text;
    Send(type, With(About(), "delta", text));
  }

  void GrowMessage(const std::string& text) {
    const ordered_json logprobs = LogprobsJson(std::exchange(waiting_, {}));
    logprobs_.insert(logprobs_.end(), logprobs.begin(), logprobs.end());
    text_ += text;
    ordered_json fields = With(About(), "delta", text);
    fields["logprobs"] = logprobs;
    Send("response.output_text.delta", std::move(fields));
  }

  void Close() {
    if (open_ == Item::kNone) return;
    if (open_ == Item::kCall) {
      item_["arguments"] = text_;
      ordered_json done = With(About(), "name", item_["name"]);
      done["arguments"] = text_;
      Send("response.function_call_arguments.done", std::move(done));
    } else {
      ordered_json done = With(About(), "text", text_);
      if (open_ == Item::kMessage) {
        for (ordered_json& one : LogprobsJson(std::exchange(waiting_, {})))
          logprobs_.push_back(std::move(one));
        done["logprobs"] = logprobs_;
      }
      Send(open_ == Item::kMessage ? "response.output_text.done" : "response.reasoning_text.done",
           std::move(done));
      Send("response.content_part.done", With(About(), "part", Part()));
      item_["content"].push_back(Part());
    }
    if (open_ != Item::kReasoning) item_["status"] = is_whole_ ? "completed" : "incomplete";
    Send("response.output_item.done",
         {{"output_index", response_["output"].size()}, {"item", item_}});
    response_["output"].push_back(std::exchange(item_, {}));
    open_ = Item::kNone;
  }

  const ReplyFrame frame_;
  const ResponseKeeper keep_;
  const bool is_background_;
  std::optional<PiecesOfReply> pieces_;  // if it streams
  ordered_json response_;
  Item open_ = Item::kNone;
  ordered_json item_;                              // the open one
  std::string text_;                               // of it
  ordered_json logprobs_ = ordered_json::array();  // of its tokens, if wanted
  std::vector<ResponseToken> waiting_;             // their text has not been sent yet
  int sequence_ = 0;
  bool is_whole_ = true;
};

}  // namespace

std::unique_ptr<ReplyWriter> MakeResponsesWriter(ReplyFrame frame, const ApiRequest& request,
                                                 const ordered_json& body, ResponseKeeper keep) {
  return std::make_unique<ResponsesWriter>(std::move(frame), request, body, std::move(keep));
}

}  // namespace aster::serve
