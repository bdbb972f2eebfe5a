// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Ollama's /api/pull, and who may pull models.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "serve/model_names.h"
#include "serve/model_pulls.h"
#include "serve/openai_reply.h"
#include "serve/reply_writer.h"
#include "serve/service.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

// The least time between lines of progress.
constexpr int64_t kLineNs = 100 * kNsPerMs;

// The lines of a pull, or one document at its end.
class PullReply {
 public:
  PullReply(std::shared_ptr<ReplyStream> stream, bool is_streamed, const Clock& clock)
      : stream_(std::move(stream)),
        pieces_(stream_, PiecesOfReply::Format::kLines),
        is_streamed_(is_streamed),
        clock_(clock) {
    if (is_streamed_) pieces_.KeepAlive();
  }

  bool is_gone() const { return stream_->is_gone(); }

  void WriteStatus(const std::string& status) { Write({{"status", status}}); }

  void Show(const ModelPulls::Progress& progress) {
    const int64_t now_ns = clock_.NowNs();
    const bool is_first = progress.file != file_;
    const bool is_last = progress.done_bytes == progress.total_bytes;
    if (!is_first && !is_last && now_ns < next_line_ns_) return;
    next_line_ns_ = now_ns + kLineNs;
    file_ = progress.file;
    ordered_json line = {{"status", "pulling " + progress.file},
                         {"digest", progress.digest},
                         {"completed", progress.done_bytes}};
    if (progress.total_bytes > 0) line["total"] = progress.total_bytes;
    Write(line);
  }

  void Succeed(const std::string& advice) {
    if (is_streamed_) WriteStatus(advice);
    const ordered_json end = {{"status", "success"}};
    if (!is_streamed_) {
      ordered_json whole = end;
      whole["message"] = advice;
      return stream_->Send(200, "application/json", DumpJson(whole));
    }
    Write(end);
    pieces_.End();
  }

  void Fail(const Problem& problem) {
    if (pieces_.Refuse(problem, ProblemForm::kOllama)) return;
    Write(ProblemJson(problem, ProblemForm::kOllama));
    pieces_.End();
  }

 private:
  void Write(const ordered_json& line) {
    if (is_streamed_) pieces_.Write(DumpJson(line) + "\n");
  }

  const std::shared_ptr<ReplyStream> stream_;
  PiecesOfReply pieces_;
  const bool is_streamed_;
  const Clock& clock_;
  std::string file_;  // shown last
  int64_t next_line_ns_ = 0;
};

}  // namespace

void Service::OllamaPull(const HttpRequest& request, const std::shared_ptr<ReplyStream>& stream) {
  Problem problem;
  if (options_.pulls == nullptr) {
    problem.Set(501, "", "this server pulls no models: aster pull NAME fetches one");
    return Refuse(request, *stream, problem);
  }
  // A pull writes files from any source to the server's disk.
  if (!MayUseFiles(request, {.verb = "pull models", .command = "aster pull"}, problem))
    return Refuse(request, *stream, problem);
  const ordered_json body = ParseBody(request.body, problem);
  const Fields fields(body, problem);
  // Older clients' name of the field.
  auto name = fields.String("model");
  if (!name) name = fields.String("name");
  const bool is_streamed = fields.Bool("stream").value_or(true);
  if (!name || name->empty()) fields.Refuse("model", "is missing: give hf:ORG/REPO or an address");
  if (problem.any()) return Refuse(request, *stream, problem);

  const auto reply = std::make_shared<PullReply>(stream, is_streamed, clock_);
  for (const ServedModel& model : options_.models) {
    if (PlainName(model.context.name) != PlainName(*name)) continue;
    requests_.Count(request.path, 200);
    return reply->Succeed(model.context.name + " is served here already");
  }
  reply->WriteStatus("pulling manifest");
  options_.pulls->Pull(
      *name,
      {.on_progress = [reply](const ModelPulls::Progress& progress) { reply->Show(progress); },
       .on_note = [reply](const std::string& sentence) { reply->WriteStatus(sentence); },
       .on_end =
           [this, reply, path = request.path, id = stream->request_id()](const auto& advice) {
             if (!advice.ok()) {
               const Problem why = ProblemOf(advice.error(), "model");
               reply->Fail(why);
               return NoteRefused(path, id, why.status);
             }
             reply->Succeed(*advice);
             requests_.Count(path, 200);
           },
       .is_gone = [reply] { return reply->is_gone(); }});
}

}  // namespace aster::serve
