// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/reply_writer.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace aster::serve {

namespace {

using nlohmann::ordered_json;

// Readers of each format skip these.
constexpr std::string_view kKeepAliveOfEvents = ": still at work\n\n";
constexpr std::string_view kKeepAliveOfLines = " ";

}  // namespace

PiecesOfReply::PiecesOfReply(std::shared_ptr<ReplyStream> stream, Format format)
    : stream_(std::move(stream)),
      format_(format),
      content_type_(format == Format::kEvents ? "text/event-stream" : "application/x-ndjson") {}

void PiecesOfReply::KeepAlive() {
  SetKeepAlive(format_ == Format::kEvents ? kKeepAliveOfEvents : kKeepAliveOfLines);
}

void PiecesOfReply::SetKeepAlive(std::string_view bytes) {
  stream_->SetKeepAlive({.content_type = content_type_,
                         .headers = {{"Cache-Control", "no-cache"}},
                         .bytes = std::string(bytes)});
}

void PiecesOfReply::Write(std::string_view bytes) {
  stream_->Begin(200, content_type_, {{"Cache-Control", "no-cache"}});
  stream_->Write(bytes);
}

bool PiecesOfReply::Refuse(const Problem& problem, ProblemForm form) {
  // After this no keep-alive can begin the reply, so the status is final.
  stream_->SetKeepAlive({});
  if (stream_->status() != 0) return false;
  SendProblem(*stream_, problem, form);
  return true;
}

void CollectingWriter::WritePiece(size_t choice, std::span<const chat::ReplyEvent> events,
                                  std::span<const ResponseToken> tokens) {
  replies_[choice].Add(events, tokens);
}

void CollectingWriter::EndChoice(size_t choice, EndReason reason, const std::string& stop_string) {
  replies_[choice].reason = reason;
  replies_[choice].stop_string = stop_string;
}

void CollectingWriter::SendJson(int status, const ordered_json& json) const {
  frame_.stream->Send(status, "application/json", DumpJson(json));
}

std::string TimeText(int64_t seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string DumpJson(const ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string ServerEvent(std::string_view event, const ordered_json& json) {
  const std::string name = event.empty() ? "" : fmt::format("event: {}\n", event);
  return name + "data: " + DumpJson(json) + "\n\n";
}

namespace {

// Programs look for these words if a prompt is too long.
std::string MessageOf(const Problem& problem, ProblemForm form) {
  if (problem.prompt_tokens == 0 || form == ProblemForm::kOllama) return problem.message;
  if (form == ProblemForm::kAnthropic)
    return fmt::format("prompt is too long: {} tokens > {} maximum", problem.prompt_tokens,
                       problem.most_tokens);
  return fmt::format("This model's maximum context length is {} tokens: {}", problem.most_tokens,
                     problem.message);
}

}  // namespace

ordered_json ProblemJson(const Problem& problem, ProblemForm form, const std::string& request_id) {
  const int status = problem.status;
  if (form == ProblemForm::kOllama) return {{"error", problem.message}};
  if (form == ProblemForm::kAnthropic) {
    const char* type = status == 401   ? "authentication_error"
                       : status == 403 ? "permission_error"
                       : status == 404 ? "not_found_error"
                       : status == 413 ? "request_too_large"
                       : status == 429 ? "rate_limit_error"
                       : status == 503 ? "overloaded_error"
                       : status < 500  ? "invalid_request_error"
                                       : "api_error";
    ordered_json json = {{"type", "error"},
                         {"error", {{"type", type}, {"message", MessageOf(problem, form)}}}};
    if (!request_id.empty()) json["request_id"] = request_id;
    return json;
  }
  const char* type = status == 401   ? "authentication_error"
                     : status == 429 ? "rate_limit_error"
                     : status < 500  ? "invalid_request_error"
                                     : "server_error";
  const auto or_null = [](const std::string& text) {
    return text.empty() ? ordered_json() : ordered_json(text);
  };
  return {{"error",
           {{"message", MessageOf(problem, form)},
            {"type", type},
            {"param", or_null(problem.param)},
            {"code", or_null(problem.code)}}}};
}

void SendProblem(ReplyStream& stream, const Problem& problem, ProblemForm form) {
  HttpHeaders headers;
  if (problem.status == 429 || problem.status == 503) headers.emplace_back("Retry-After", "1");
  if (!problem.allow.empty()) headers.emplace_back("Allow", problem.allow);
  if (problem.status == 401) headers.emplace_back("WWW-Authenticate", "Bearer");
  stream.Send(problem.status, "application/json",
              DumpJson(ProblemJson(problem, form, stream.request_id())), headers);
}

}  // namespace aster::serve
