// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_limits.h"
#include "serve/anthropic.h"
#include "serve/timings.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;
using Kind = chat::ReplyEvent::Kind;

const char* ReasonName(EndReason reason) {
  switch (reason) {
    case EndReason::kLength:
      return "max_tokens";
    case EndReason::kCalls:
      return "tool_use";
    case EndReason::kStopString:
      return "stop_sequence";
    case EndReason::kStop:
      break;
  }
  return "end_turn";
}

ordered_json StopSequence(EndReason reason, const std::string& stop_string) {
  return reason == EndReason::kStopString ? ordered_json(stop_string) : ordered_json();
}

// Cached tokens are counted separately.
ordered_json UsageJson(const Usage& usage) {
  return {{"input_tokens", usage.prompt - usage.cached},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", usage.cached},
          {"output_tokens", usage.answer},
          {"accepted_prediction_tokens", usage.accepted},
          {"rejected_prediction_tokens", usage.rejected()}};
}

// Clients know ids of calls by their prefix.
std::string ToolUseId(const std::string& id) {
  constexpr std::string_view kCall = "call_";
  return id.starts_with(kCall) ? "toolu_" + id.substr(kCall.size()) : id;
}

ordered_json MessageHead(const ReplyFrame& frame) {
  return {{"id", frame.id},
          {"type", "message"},
          {"role", "assistant"},
          {"model", frame.model},
          {"content", ordered_json::array()},
          {"stop_reason", nullptr},
          {"stop_sequence", nullptr}};
}

ordered_json ObjectOf(const std::string& arguments) {
  if (!JsonLimits().Check(arguments).ok()) return ordered_json::object();
  ordered_json object = ordered_json::parse(arguments, nullptr, /*allow_exceptions=*/false);
  // A truncated call has only the beginning of its arguments.
  return object.is_object() ? object : ordered_json::object();
}

class MessagesAtOnce final : public CollectingWriter {
 public:
  explicit MessagesAtOnce(ReplyFrame frame) : CollectingWriter(std::move(frame), 1) {}

  void Finish(const Usage& usage) override {
    const ChoiceReply& said = replies_.front();
    ordered_json json = MessageHead(frame_);
    ordered_json& content = json["content"];
    if (!said.reasoning.empty()) {
      content.push_back({{"type", "thinking"}, {"thinking", said.reasoning}, {"signature", ""}});
    }
    if (!said.content.empty() || (said.calls.empty() && said.reasoning.empty())) {
      content.push_back({{"type", "text"}, {"text", said.content}});
    }
    for (const Call& call : said.calls) {
      content.push_back({{"type", "tool_use"},
                         {"id", ToolUseId(call.id)},
                         {"name", call.name},
                         {"input", ObjectOf(call.arguments)}});
    }
    json["stop_reason"] = ReasonName(said.reason);
    json["stop_sequence"] = StopSequence(said.reason, said.stop_string);
    json["usage"] = UsageJson(usage);
    json["timings"] = TimingsJson(usage);
    if (said.ensemble) json["ensemble"] = *said.ensemble;
    SendJson(200, json);
  }
  void Fail(const Problem& problem) override {
    SendProblem(*frame_.stream, problem, ProblemForm::kAnthropic);
  }
};

class MessagesStream final : public ReplyWriter {
 public:
  explicit MessagesStream(ReplyFrame frame)
      : frame_(std::move(frame)), pieces_(frame_.stream, PiecesOfReply::Format::kEvents) {}

  void Await() override { pieces_.KeepAlive(); }
  void Begin(const Usage& usage) override {
    ordered_json message = MessageHead(frame_);
    message["usage"] = UsageJson(usage);
    Send("message_start", {{"type", "message_start"}, {"message", std::move(message)}});
    Send("ping", {{"type", "ping"}});
    // A ping is allowed anywhere but before the message.
    pieces_.SetKeepAlive(ServerEvent("ping", {{"type", "ping"}}));
  }

  void WritePiece(size_t /*choice*/, std::span<const chat::ReplyEvent> events,
                  std::span<const ResponseToken> /*tokens*/) override {
    for (const chat::ReplyEvent& event : events) {
      switch (event.kind) {
        case Kind::kContent:
          Open(Block::kText, {{"type", "text"}, {"text", ""}});
          SendDelta({{"type", "text_delta"}, {"text", event.text}});
          break;
        case Kind::kReasoning:
          Open(Block::kThinking, {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}});
          SendDelta({{"type", "thinking_delta"}, {"thinking", event.text}});
          break;
        case Kind::kCallBegin:
          Close();
          Open(Block::kCall, {{"type", "tool_use"},
                              {"id", ToolUseId(event.id)},
                              {"name", event.text},
                              {"input", ordered_json::object()}});
          break;
        case Kind::kArguments:
          SendDelta({{"type", "input_json_delta"}, {"partial_json", event.text}});
          break;
        case Kind::kCallEnd:
          Close();
          break;
      }
    }
  }

  void Explain(size_t /*choice*/, JsonPtr ensemble) override { ensemble_ = std::move(ensemble); }
  void EndChoice(size_t /*choice*/, EndReason reason, const std::string& stop_string) override {
    // An answer has at least one block, even if empty.
    if (next_index_ == 0) Open(Block::kText, {{"type", "text"}, {"text", ""}});
    Close();
    reason_ = reason;
    stop_string_ = stop_string;
  }

  void Finish(const Usage& usage) override {
    ordered_json delta = {{"type", "message_delta"},
                          {"delta",
                           {{"stop_reason", ReasonName(reason_)},
                            {"stop_sequence", StopSequence(reason_, stop_string_)}}},
                          {"usage", UsageJson(usage)},
                          {"timings", TimingsJson(usage)}};
    if (ensemble_) delta["ensemble"] = *ensemble_;
    Send("message_delta", delta);
    Send("message_stop", {{"type", "message_stop"}});
    pieces_.End();
  }

  void Fail(const Problem& problem) override {
    if (pieces_.Refuse(problem, ProblemForm::kAnthropic)) return;
    Send("error", ProblemJson(problem, ProblemForm::kAnthropic, frame_.stream->request_id()));
    pieces_.End();
  }

 private:
  enum class Block : uint8_t { kNone, kText, kThinking, kCall };

  void Send(std::string_view event, const ordered_json& json) {
    pieces_.Write(ServerEvent(event, json));
  }
  void Open(Block block, ordered_json content) {
    if (open_ == block) return;
    Close();
    open_ = block;
    Send("content_block_start", {{"type", "content_block_start"},
                                 {"index", next_index_++},
                                 {"content_block", std::move(content)}});
  }
  void SendDelta(ordered_json delta) {
    Send(
        "content_block_delta",
        {{"type", "content_block_delta"}, {"index", next_index_ - 1}, {"delta", std::move(delta)}});
  }
  void Close() {
    if (open_ == Block::kNone) return;
    if (open_ == Block::kThinking) SendDelta({{"type", "signature_delta"}, {"signature", ""}});
    open_ = Block::kNone;
    Send("content_block_stop", {{"type", "content_block_stop"}, {"index", next_index_ - 1}});
  }

  const ReplyFrame frame_;
  PiecesOfReply pieces_;
  Block open_ = Block::kNone;
  int next_index_ = 0;
  EndReason reason_ = EndReason::kStop;
  std::string stop_string_;
  JsonPtr ensemble_;
};

}  // namespace

std::unique_ptr<ReplyWriter> MakeMessagesWriter(ReplyFrame frame, const ApiRequest& request) {
  if (request.streams) return std::make_unique<MessagesStream>(std::move(frame));
  return std::make_unique<MessagesAtOnce>(std::move(frame));
}

}  // namespace aster::serve
