// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "ensemble/explanation.h"
#include "respond/response.h"

namespace aster::serve {
namespace {

respond::Settings SettingsOf(const AnswerContext& context, const ApiRequest& request,
                             uint64_t seed) {
  respond::Settings settings = request;
  settings.sampling.seed = seed;
  settings.context_limit = context.context_limit;
  settings.draft = context.draft;
  return settings;
}

}  // namespace

AnswerLoopState StateOf(const AnswerContext& context) {
  return context.ensemble != nullptr ? context.ensemble->state() : context.loop->state();
}

std::optional<respond::Prompt> PromptOf(const AnswerContext& context, const ApiRequest& request,
                                        Problem& problem) {
  if (!context.model.prompt->has_template()) {
    problem = ProblemOf(Unimplemented("this model has no chat template; use /v1/completions"),
                        request.prompt_field);
    return std::nullopt;
  }
  respond::Part part = respond::Part::kMessages;
  auto prompt = respond::MakePrompt(context.model, request, &part);
  if (prompt.ok()) return *std::move(prompt);
  problem =
      ProblemOf(prompt.error(), part == respond::Part::kTools ? "tools" : request.prompt_field);
  return std::nullopt;
}

// One answer to a prompt.
class Answer::Choice final : public respond::Listener {
 public:
  Choice(Answer& answer, size_t index, const respond::Prompt& prompt,
         const std::shared_ptr<grammar::MaskCache>& masks, uint64_t seed)
      : answer_(answer),
        index_(index),
        prompt_(&prompt),
        response_(std::make_unique<respond::Response>(
            answer.context_.model, SettingsOf(answer.context_, answer.request_, seed), prompt,
            masks, *this)) {}
  // Of an ensemble.
  Choice(Answer& answer, size_t index, std::shared_ptr<ensemble::QuestionRun> question)
      : answer_(answer), index_(index), question_(std::move(question)) {}

  void OnPrefill(uint64_t done, uint64_t total) override {
    answer_.Begin(done);
    // Choices share most of their prompts: the progress of the first one counts for all.
    if (index_ == 0) answer_.Progress(done, total);
  }
  void OnToken(const engine::Delta& /*delta*/) override {
    if (answer_.has_failed_) return;
    answer_.Begin(0);
    CountToken();
  }
  void OnPiece(const respond::Piece& piece) override {
    answer_.WritePiece(index_, piece);
    has_line_ = has_line_ || piece.text.find('\n') != std::string_view::npos;
    const int64_t most_ns = answer_.request_.line_ns;
    if (most_ns > 0 && has_line_ && last_token_ns_ - first_token_ns_ >= most_ns) response_->Cut();
  }
  void OnEnd(const respond::End& end) override { answer_.EndChoice(index_, end); }

  // Sends the beginning of the response.
  void Begin() {
    if (response_ != nullptr) response_->Begin();
  }
  // An ensemble's tokens arrive many at once: only the first one is measured.
  void CountFirstToken() {
    if (last_token_ns_ == 0) CountToken();
  }
  void CountToken() {
    const int64_t now_ns = answer_.context_.clock->NowNs();
    if (last_token_ns_ == 0) {
      first_token_ns_ = now_ns;
      answer_.context_.metrics->AddFirstToken(now_ns - answer_.start_ns_);
    } else {
      answer_.context_.metrics->AddNextToken(now_ns - last_token_ns_);
    }
    last_token_ns_ = now_ns;
    answer_.trace_.AddToken(index_, now_ns);
  }

  const respond::Prompt& prompt() const { return *prompt_; }
  respond::Response& response() { return *response_; }
  std::shared_ptr<ensemble::QuestionRun> TakeQuestion() { return std::move(question_); }

 private:
  Answer& answer_;
  const size_t index_;
  // null: an ensemble's
  const respond::Prompt* const prompt_ = nullptr;
  const std::unique_ptr<respond::Response> response_;
  std::shared_ptr<ensemble::QuestionRun> question_;
  int64_t first_token_ns_ = 0;
  int64_t last_token_ns_ = 0;
  bool has_line_ = false;
};

Answer::Answer(const AnswerContext& context, ApiRequest request,
               std::shared_ptr<ReplyStream> stream, std::unique_ptr<ReplyWriter> writer,
               std::string endpoint)
    : context_(context),
      request_(std::move(request)),
      stream_(std::move(stream)),
      endpoint_(std::move(endpoint)),
      start_ns_(context.clock->NowNs()),
      writer_(std::move(writer)),
      trace_(!context.trace_folder.empty(), start_ns_) {
  for (const int64_t most_ns : {context.deadline_ns, request_.timeout_ns}) {
    if (most_ns > 0) deadline_ns_ = std::min(deadline_ns_, start_ns_ + most_ns);
  }
}

Answer::~Answer() {
  const int status = stream_->status();
  context_.requests->Count(endpoint_, status);
  if (stream_->is_gone()) context_.metrics->Add({.abandoned = 1});
  log::Info("answered", {{"id", stream_->request_id()},
                         {"path", endpoint_},
                         {"status", status},
                         {"ms", (context_.clock->NowNs() - start_ns_) / kNsPerMs},
                         {"prompt", usage_.prompt},
                         {"cached", usage_.cached},
                         {"answer", usage_.answer},
                         {"gone", stream_->is_gone()}});
  SaveTrace();
}

void Answer::SaveTrace() const {
  if (!trace_.is_wanted()) return;
  const Status saved = trace_.Save(context_.trace_folder,
                                   {.id = stream_->request_id(),
                                    .path = endpoint_,
                                    .model = context_.name,
                                    .status = stream_->status(),
                                    .is_gone = stream_->is_gone(),
                                    .prompt_tokens = usage_.prompt,
                                    .cached_tokens = usage_.cached,
                                    .answer_tokens = usage_.answer},
                                   *context_.clock);
  if (!saved.ok()) log::Warn("a trace is lost", {{"error", saved.error().message()}});
}

Result<respond::Prompt> Answer::PromptOfText(const RawPrompt& raw) const {
  std::vector<int32_t> tokens = raw.ids;
  if (raw.suffix) {
    tokens = TRY(respond::InfillPrompt(*context_.model.tokenizer, raw.text, *raw.suffix, raw.middle,
                                       raw.others));
  }
  if (tokens.empty()) tokens = TRY(context_.model.prompt->EncodeRaw(raw.text, /*begins=*/true));
  respond::Prompt prompt = respond::RawPrompt(std::move(tokens), request_.form);
  prompt.text = raw.text;
  return prompt;
}

Problem Answer::MakePrompts() {
  Problem problem;
  if (request_.raw.empty()) {
    auto prompt = PromptOf(context_, request_, problem);
    if (prompt) prompts_.push_back(*std::move(prompt));
  }
  for (const RawPrompt& raw : request_.raw) {
    auto prompt = PromptOfText(raw);
    if (!prompt.ok()) return ProblemOf(prompt.error(), request_.prompt_field);
    prompts_.push_back(*std::move(prompt));
  }
  for (const respond::Prompt& prompt : prompts_) {
    if (!problem.any()) problem = CheckLength(prompt);
  }
  return problem;
}

Problem Answer::CheckLength(const respond::Prompt& prompt) const {
  const size_t count = prompt.tokens.size();
  if (count > 0 && count < context_.context_limit) return {};
  if (count == 0)
    return ProblemOf(InvalidArgument("the prompt is empty: give some text to go on from"),
                     request_.prompt_field);
  Problem problem = ProblemOf(
      OutOfRange(fmt::format("the prompt has {} tokens, and prompt and answer have to fit into {}; "
                             "shorten it, or start the server with a larger --ctx",
                             count, context_.context_limit)),
      request_.prompt_field);
  problem.prompt_tokens = count;
  problem.most_tokens = context_.context_limit;
  return problem;
}

// For the log. A model may have tokens without a text.
std::string Answer::TextOf(const respond::Prompt& prompt) const {
  if (!prompt.text.empty()) return prompt.text;
  auto text = context_.model.tokenizer->Decode(prompt.tokens, {});
  return text.ok() ? *std::move(text) : text.error().message();
}

// The question to an ensemble: a text to continue, or (`raw` null) the conversation.
Result<ensemble::Question> Answer::QuestionOf(const RawPrompt* raw) const {
  if (!request_.sampling.biases.empty())
    return InvalidArgument("logit_bias names tokens of one vocabulary: ask a member of it alone");
  ensemble::Question question{.conversation = request_, .settings = request_};
  if (raw == nullptr) return question;
  if (!raw->ids.empty())
    return InvalidArgument("token ids are of one vocabulary: give an ensemble a text");
  if (raw->suffix)
    return Unimplemented("an ensemble has no fill-in-the-middle: ask a member of it alone");
  if (raw->text.empty())
    return InvalidArgument("the prompt is empty: give some text to go on from");
  question.text = raw->text;
  return question;
}

Problem Answer::PrepareQuestions(const std::string& client) {
  std::vector<const RawPrompt*> texts;
  for (const RawPrompt& raw : request_.raw) texts.push_back(&raw);
  if (texts.empty()) texts.push_back(nullptr);
  for (const RawPrompt* const raw : texts) {
    auto question = QuestionOf(raw);
    if (!question.ok()) return ProblemOf(question.error(), request_.prompt_field);
    if (context_.logs_prompts) {
      log::Info("prompt", {{"id", stream_->request_id()},
                           {"text", raw != nullptr ? raw->text : DumpJson(request_.messages)}});
    }
    question->client = client;
    for (uint32_t choice = 0; choice < request_.choices; ++choice) {
      question->settings.sampling.seed = request_.sampling.seed + choice;
      auto prepared = context_.ensemble->ensemble().Prepare(*question);
      if (!prepared.ok()) return ProblemOf(prepared.error(), request_.prompt_field);
      if (choice == 0) asked_tokens_ += (*prepared)->prompt_tokens();
      choices_.push_back(std::make_unique<Choice>(*this, choices_.size(), *std::move(prepared)));
    }
  }
  choices_left_ = choices_.size();
  return {};
}

Status Answer::SubmitQuestions() {
  const auto self = shared_from_this();
  std::vector<EnsembleJob> jobs;
  for (size_t i = 0; i < choices_.size(); ++i) {
    jobs.push_back(
        {.question = choices_[i]->TakeQuestion(),
         .deadline_ns = deadline_ns_,
         .is_gone = [self] { return self->has_failed_ || self->stream_->is_gone(); },
         .on_answer =
             [self, i](Result<ensemble::Answer> answer) { self->SendAnswer(i, std::move(answer)); },
         .on_piece = [self,
                      i](const ensemble::AnswerPiece& piece) { self->SendMemberPiece(i, piece); }});
  }
  return context_.ensemble->Submit(std::move(jobs));
}

Problem Answer::Prepare(const std::string& client) {
  if (context_.ensemble != nullptr) return PrepareQuestions(client);
  if (Problem problem = MakePrompts(); problem.any()) return problem;
  std::shared_ptr<grammar::MaskCache> masks;
  for (const respond::Prompt& prompt : prompts_) {
    usage_.prompt += prompt.tokens.size();
    if (context_.logs_prompts) {
      log::Info("prompt", {{"id", stream_->request_id()}, {"text", TextOf(prompt)}});
    }
    // Prompts with the same grammar share its masks.
    if (masks == nullptr || masks->grammar() != prompt.grammar) {
      auto made = respond::MakeMasks(context_.model, prompt);
      if (!made.ok())
        return ProblemOf(made.error(), request_.form != nullptr ? request_.form_field : "tools");
      masks = *std::move(made);
    }
    for (uint32_t choice = 0; choice < request_.choices; ++choice) {
      choices_.push_back(std::make_unique<Choice>(*this, choices_.size(), prompt, masks,
                                                  request_.sampling.seed + choice));
    }
  }
  choices_left_ = choices_.size();
  return {};
}

std::unique_ptr<Job> Answer::MakeJob(Choice& choice, const std::string& client) {
  const auto self = shared_from_this();
  auto job = std::make_unique<Job>();
  job->client = client;
  job->prompt = choice.prompt().tokens;
  job->deadline_ns = deadline_ns_;
  job->request = choice.response().MakeRequest(self);
  job->is_gone = [self, response = &choice.response()] {
    return self->has_failed_ || response->is_complete() || self->stream_->is_gone();
  };
  job->on_refused = [self](const Error& error) {
    self->Fail(ProblemOf(error, self->request_.prompt_field));
  };
  return job;
}

Status Answer::SubmitJobs(const std::string& client) {
  std::vector<std::unique_ptr<Job>> jobs;
  for (const auto& choice : choices_) jobs.push_back(MakeJob(*choice, client));
  return context_.loop->Submit(std::move(jobs));
}

// False: the writer has the problem.
bool Answer::TryPrepare(const std::string& client) {
  if (const Problem problem = Prepare(client); problem.any()) {
    Fail(problem);
    return false;
  }
  trace_.Mark(RequestTrace::kQueued, context_.clock->NowNs());
  writer_->Await();
  return true;
}

void Answer::Follow(const std::string& client) {
  CHECK(context_.ensemble == nullptr);
  if (!TryPrepare(client)) return;
  for (const auto& choice : choices_) context_.loop->Follow(MakeJob(*choice, client));
}

void Answer::Start(const std::string& client) {
  if (!TryPrepare(client)) return;
  // From here on the loop's thread calls the writer.
  const Status submitted = context_.ensemble != nullptr ? SubmitQuestions() : SubmitJobs(client);
  if (!submitted.ok()) Fail(ProblemOf(submitted.error(), "n"));
}

// `cached`: tokens of the first prompt that were in the KV cache, as far as known.
void Answer::Begin(uint64_t cached) {
  if (std::exchange(has_begun_, true) || has_failed_) return;
  trace_.Mark(RequestTrace::kBegun, context_.clock->NowNs());
  const uint64_t prompt = std::max(usage_.prompt, asked_tokens_);
  const ReplyStream::OnePiece one(*stream_);
  writer_->Begin({.prompt = prompt, .cached = std::min(cached, prompt)});
  for (const auto& choice : choices_) choice->Begin();
}

void Answer::Progress(uint64_t done, uint64_t total) {
  if (request_.wants_progress && !has_failed_)
    writer_->Progress({.done = done, .total = total, .ns = context_.clock->NowNs() - start_ns_});
}

void Answer::WritePiece(size_t choice, const respond::Piece& piece) {
  if (has_failed_ || (piece.events.empty() && piece.tokens.empty())) return;
  const ReplyStream::OnePiece one(*stream_);
  writer_->WritePiece(choice, piece.events, piece.tokens);
}

// A piece of an ensemble's unfinished answer.
void Answer::SendMemberPiece(size_t choice, const ensemble::AnswerPiece& piece) {
  if (has_failed_) return;
  Begin(0);
  choices_[choice]->CountFirstToken();
  WritePiece(choice, {.text = piece.text, .events = piece.events, .tokens = piece.tokens});
}

// An ensemble's answer, in the same calls as one model's, with its explanation.
void Answer::SendAnswer(size_t choice, Result<ensemble::Answer> answer) {
  if (has_failed_) return;
  if (!answer.ok()) {
    if (answer.error().code() == Code::kCancelled) return FailCancelled();
    return Fail(ProblemOf(answer.error(), request_.prompt_field));
  }
  const ReplyStream::OnePiece one(*stream_);
  // Choices share their prompts: count those of all members once.
  if (choice % request_.choices == 0) usage_.prompt += answer->usage.prompt;
  Begin(answer->usage.cached);
  choices_[choice]->CountFirstToken();
  writer_->Explain(choice,
                   std::make_shared<nlohmann::ordered_json>(ensemble::ExplanationToJson(*answer)));
  ensemble::Tell(*answer, *choices_[choice]);
}

void Answer::FailCancelled() {
  Fail(is_late() ? Problem{.status = 504, .message = "the answer took too long"}
                 : Problem{.status = 503, .message = "the server is shutting down"});
}

void Answer::EndChoice(size_t choice, const respond::End& end) {
  if (has_failed_) return;
  if (end.is_cancelled) return FailCancelled();
  const ReplyStream::OnePiece one(*stream_);
  // An answer that failed before it began gets an HTTP status of its own.
  if (end.status.ok()) Begin(0);
  WritePiece(choice, end.last);
  Count(choice, end);
  if (!end.status.ok()) return Fail(ProblemOf(end.status.error()));
  writer_->Count(choice, end.usage);
  writer_->EndChoice(choice, end.reason, end.finish.stop_string);
  if (--choices_left_ == 0) writer_->Finish(usage_);
}

void Answer::Count(size_t choice, const respond::End& end) {
  if (!end.status.ok()) {
    // A grammar that costs too much is the client's failure.
    const bool is_ours = end.status.error().code() != Code::kInvalidArgument;
    if (is_ours && end.finish.reason == engine::FinishReason::kFailed)
      context_.metrics->Add({.failed = 1});
    return;
  }
  const Usage& usage = end.usage;
  usage_.answer += usage.answer;
  usage_.reasoning += usage.reasoning;
  usage_.drafted += usage.drafted;
  usage_.accepted += usage.accepted;
  if (choice == 0 && context_.plan_of) usage_.plan = context_.plan_of(end.finish.id);
  // Choices are computed together.
  engine::RequestTimes& longest = usage_.times;
  longest.waited_ns = std::max(longest.waited_ns, usage.times.waited_ns);
  longest.prefill_ns = std::max(longest.prefill_ns, usage.times.prefill_ns);
  longest.decode_ns = std::max(longest.decode_ns, usage.times.decode_ns);
  // Choices share their prompt: count it once.
  if (choice % request_.choices == 0) usage_.cached += usage.cached;
  context_.metrics->Add({.prompt_tokens = usage.prompt,
                         .cached_tokens = usage.cached,
                         .answer_tokens = usage.answer,
                         .drafted_tokens = usage.drafted,
                         .accepted_tokens = usage.accepted,
                         .answers = 1});
  const engine::RequestTimes& times = end.finish.times;
  context_.metrics->AddPromptRate(usage.prompt - usage.cached, times.prefill_ns);
  context_.metrics->AddAnswerRate(usage.answer - std::min<uint64_t>(1, usage.answer),
                                  times.decode_ns);
}

void Answer::Fail(const Problem& problem) {
  if (std::exchange(has_failed_, true)) return;
  writer_->Fail(problem);
}

}  // namespace aster::serve
