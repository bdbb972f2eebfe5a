// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "chat/conversation.h"
#include "serve/call_grammar.h"
#include "serve/tag_arguments.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;
using Kind = chat::ReplyEvent::Kind;

// Somebody who waits is told that often that work goes on.
constexpr int64_t kKeepAliveNs = 5 * kNsPerSecond;

}  // namespace

// One choice.
struct Answer::Run {
  size_t index = 0;
  Prompted prompt;
  uint64_t seed = 0;
  std::shared_ptr<grammar::TokenMasks> masks;  // of the grammar, if there is one
  std::unique_ptr<chat::ReplyParser> parser;
  bool is_thinking = false;
  bool has_calls = false;
  bool has_ended_call = false;
  bool ends_early = false;  // all that is wanted has been said
  int64_t last_token_ns = 0;
  std::vector<SpokenToken>
      unsaid;              // whose text is not said yet, where log-probabilities are wanted
  size_t said_bytes = 0;   // of the answer
  size_t taken_bytes = 0;  // of tokens before those
};

Answer::Answer(const AnswerContext& context, Ask ask, std::shared_ptr<ReplyStream> stream,
               std::unique_ptr<ReplyWriter> writer, std::string endpoint)
    : context_(context),
      ask_(std::move(ask)),
      stream_(std::move(stream)),
      endpoint_(std::move(endpoint)),
      start_ns_(context.clock->NowNs()),
      writer_(std::move(writer)),
      last_said_ns_(start_ns_),
      trace_(!context.trace_folder.empty(), start_ns_) {
  for (const int64_t most_ns : {context.deadline_ns, ask_.timeout_ns}) {
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
                                    .model = context_.model,
                                    .status = stream_->status(),
                                    .is_gone = stream_->is_gone(),
                                    .prompt_tokens = usage_.prompt,
                                    .cached_tokens = usage_.cached,
                                    .answer_tokens = usage_.answer},
                                   *context_.clock);
  if (!saved.ok()) log::Warn("a trace is lost", {{"error", saved.error().message()}});
}

namespace {

Error TooCostly() {
  return InvalidArgument("the grammar or schema can be read in too many ways; make it simpler");
}

// Nobody should take for an answer what was to be a call.
Problem NoCall() {
  return {
      .status = 500,
      .message = "the model was to call a tool, and ended its answer without a call; try again"};
}

// Templates that look at what tools need not have fail; those that do not are given what was sent.
Result<std::string> RenderPrompt(const AnswerContext& context, const Ask& ask, bool offers) {
  const ordered_json messages = chat::FittedMessages(context.dialect, ask.messages);
  const ordered_json tools = offers ? ask.tools : ordered_json();
  auto prompt = context.prompt->Render(messages, tools, ask.variables);
  if (prompt.ok() || !offers) return prompt;
  auto again = context.prompt->Render(messages, chat::FilledTools(tools), ask.variables);
  return again.ok() ? std::move(again) : std::move(prompt);
}

// What the answer has to be, if the request says anything about it.
Status FindForm(const AnswerContext& context, const Ask& ask, bool offers, Prompted& prompted) {
  const CallWriting writing = {context.dialect, *context.tokens};
  prompted.has_to_call =
      offers && (ask.tool_choice == ToolChoice::kRequired || ask.tool_choice == ToolChoice::kNamed);
  const bool has_form = ask.grammar != nullptr;
  AnswerForm form{.begun = "", .rest = ask.grammar};
  if (prompted.has_to_call) {
    form = TRY(FormOfCalls(writing, ask));
  } else if (offers && has_form) {
    form = TRY(FormOrCalls(writing, ask));
  } else if (offers && !ask.strict_tools.empty()) {
    form = TRY(TextWithCalls(writing, ask, prompted.text));
  }
  if (prompted.has_to_call || has_form)
    prompted.forced = chat::EndOfThoughts(context.dialect, prompted.text);
  prompted.forced += form.begun;
  prompted.grammar = std::move(form.rest);
  return Ok();
}

}  // namespace

std::optional<Prompted> MakePrompt(const AnswerContext& context, const Ask& ask, Problem& problem) {
  const auto refuse = [&](std::string_view field, const Error& error) {
    problem = ProblemOf(error, field);
    return std::nullopt;
  };
  const bool offers = !ask.tools.is_null() && ask.tool_choice != ToolChoice::kNone;
  if (!context.prompt->has_template()) {
    return refuse(ask.prompt_field,
                  Unimplemented("this model has no chat template; use /v1/completions"));
  }
  if (offers && !context.dialect.has_tools) {
    return refuse("tools",
                  Unimplemented("tools: this model's chat template has no place for tools"));
  }
  Prompted prompted;
  auto text = RenderPrompt(context, ask, offers);
  if (!text.ok()) return refuse(ask.prompt_field, text.error());
  prompted.text = *std::move(text);
  const Status formed = FindForm(context, ask, offers, prompted);
  if (!formed.ok()) return refuse("tools", formed.error());
  auto tokens = context.prompt->Encode(prompted.text + prompted.forced);
  if (!tokens.ok()) return refuse(ask.prompt_field, tokens.error());
  prompted.tokens = *std::move(tokens);
  return prompted;
}

Result<Prompted> Answer::PromptOf(const RawPrompt& raw) const {
  Prompted prompted;
  prompted.tokens =
      raw.ids.empty() ? TRY(context_.prompt->EncodeRaw(raw.text, /*begins=*/true)) : raw.ids;
  prompted.text = raw.text;
  if (!raw.ids.empty() && context_.logs_prompts) {
    // A model may have tokens without a text.
    auto text = context_.prompt->tokenizer().Decode(raw.ids, {});
    prompted.text = text.ok() ? *std::move(text) : text.error().message();
  }
  prompted.grammar = ask_.grammar;
  return prompted;
}

void Answer::FindTools() {
  offers_tools_ =
      ask_.raw.empty() && !ask_.tools.is_null() && ask_.tool_choice != ToolChoice::kNone;
  if (!offers_tools_) return;
  const auto find = [this](std::string_view name) -> const ordered_json* {
    for (const ordered_json& tool : ask_.tools) {
      const ordered_json& function = tool["function"];
      if (function["name"].get_ref<const std::string&>() == name) return &function;
    }
    return nullptr;
  };
  tools_.has_tool = [find](std::string_view name) { return find(name) != nullptr; };
  tools_.is_string = [find](std::string_view name, std::string_view parameter,
                            std::string_view value) {
    const ordered_json* function = find(name);
    if (function == nullptr || !(*function)["parameters"].is_object()) return false;
    const ordered_json& parameters = (*function)["parameters"];
    const auto properties = parameters.find("properties");
    if (properties == parameters.end() || !properties->is_object()) return false;
    const auto found = properties->find(std::string(parameter));
    if (found == properties->end() || !MayBe(*found, parameters, "string")) return false;
    // Strings that look like other values are those, where they may be.
    const auto json = ordered_json::parse(value, nullptr, /*allow_exceptions=*/false);
    return !MayBe(*found, parameters, TypeOf(json));
  };
}

// The prompts' tokens and forms; empty where there is a problem.
std::vector<Prompted> Answer::MakePrompts(Problem& problem) const {
  std::vector<Prompted> prompts;
  if (ask_.raw.empty()) {
    auto prompt = MakePrompt(context_, ask_, problem);
    if (prompt) prompts.push_back(*std::move(prompt));
  }
  for (const RawPrompt& raw : ask_.raw) {
    auto prompt = PromptOf(raw);
    if (!prompt.ok()) problem = ProblemOf(prompt.error(), ask_.prompt_field);
    if (problem.any()) return {};
    prompts.push_back(*std::move(prompt));
  }
  for (const Prompted& prompt : prompts) {
    const size_t count = prompt.tokens.size();
    if (count > 0 && count < context_.context_limit) continue;
    problem = ProblemOf(
        count == 0 ? InvalidArgument("the prompt is empty: give some text to go on from")
                   : OutOfRange(fmt::format(
                         "the prompt has {} tokens, and prompt and answer have to fit into {}",
                         count, context_.context_limit)),
        ask_.prompt_field);
    return {};
  }
  return prompts;
}

Problem Answer::Prepare() {
  FindTools();
  Problem problem;
  const std::vector<Prompted> prompts = MakePrompts(problem);
  std::shared_ptr<grammar::MaskCache> cache;
  for (const Prompted& prompt : prompts) {
    usage_.prompt += prompt.tokens.size();
    if (context_.logs_prompts) {
      log::Info("prompt", {{"id", stream_->request_id()}, {"text", prompt.text}});
    }
    if (prompt.grammar != nullptr && (cache == nullptr || cache->grammar() != prompt.grammar)) {
      cache = std::make_shared<grammar::MaskCache>(prompt.grammar, context_.tokens);
      if (cache->has_failed())
        return ProblemOf(TooCostly(), ask_.grammar != nullptr ? ask_.grammar_field : "tools");
    }
    for (uint32_t choice = 0; choice < ask_.choices; ++choice) {
      auto run = std::make_unique<Run>();
      if (prompt.grammar != nullptr) run->masks = std::make_shared<grammar::TokenMasks>(cache);
      run->index = runs_.size();
      run->prompt = prompt;
      run->seed = ask_.sampling.seed + choice;
      if (ask_.raw.empty()) {
        run->parser = std::make_unique<chat::ReplyParser>(context_.dialect, prompt.text,
                                                          offers_tools_ ? &tools_ : nullptr);
      }
      runs_.push_back(std::move(run));
    }
  }
  runs_left_ = runs_.size();
  return problem;
}

std::unique_ptr<Job> Answer::MakeJob(Run& run, const std::string& client) {
  auto job = std::make_unique<Job>();
  job->client = client;
  job->prompt = std::move(run.prompt.tokens);
  job->deadline_ns = deadline_ns_;
  engine::Request& request = job->request;
  request.sampling = ask_.sampling;
  request.sampling.seed = run.seed;
  request.max_tokens = ask_.max_tokens;
  request.stop_strings = ask_.stops;
  request.context_limit = context_.context_limit;
  request.draft = context_.draft;
  if (!ask_.ignores_end) {
    request.stop_tokens = context_.prompt->tokenizer().vocab().end_of_generation;
  }
  // Markup of calls and thoughts is made of control tokens.
  request.show_control = run.parser != nullptr && (offers_tools_ || context_.dialect.has_thinking);
  if (run.masks != nullptr) {
    request.edit_logits = [masks = run.masks, begin = job->prompt.size()](
                              std::span<const int32_t> history, std::span<float> logits) {
      masks->Apply(history.subspan(begin), logits);
    };
  }
  const auto self = shared_from_this();
  Run* const of = &run;
  job->is_gone = [self, of] {
    return self->has_failed_ || of->ends_early || self->stream_->is_gone();
  };
  job->on_refused = [self](const Error& error) {
    self->Fail(ProblemOf(error, self->ask_.prompt_field));
  };
  job->on_wait = [self] {
    const int64_t now_ns = self->context_.clock->NowNs();
    if (self->has_failed_ || now_ns - self->last_said_ns_ < kKeepAliveNs) return;
    self->last_said_ns_ = now_ns;
    self->writer_->KeepAlive();
  };
  request.on_prefill = [self](uint64_t done, uint64_t) { self->Begin(done); };
  request.on_token = [self, of](const engine::Delta& delta) { self->OnToken(*of, delta); };
  request.on_finish = [self, of](const engine::Finish& finish) { self->OnFinish(*of, finish); };
  return job;
}

void Answer::Start(const std::string& client) {
  if (const Problem problem = Prepare(); problem.any()) return Fail(problem);
  std::vector<std::unique_ptr<Job>> jobs;
  for (const auto& run : runs_) jobs.push_back(MakeJob(*run, client));
  trace_.Mark(RequestTrace::kQueued, context_.clock->NowNs());
  // From here on the loop's thread tells the writer.
  const Status submitted = context_.loop->Submit(std::move(jobs));
  if (!submitted.ok()) Fail(ProblemOf(submitted.error(), "n"));
}

void Answer::Begin(uint64_t cached) {
  if (std::exchange(has_begun_, true) || has_failed_) return;
  trace_.Mark(RequestTrace::kBegun, context_.clock->NowNs());
  writer_->Begin({.prompt = usage_.prompt, .cached = std::min(cached, usage_.prompt)});
  // What the answer had to begin with was never a token of it.
  for (const auto& run : runs_) {
    if (!run->prompt.forced.empty()) Say(*run, run->prompt.forced, false, {});
  }
}

std::string Answer::NewCallId() const {
  // Mistral's templates want nine letters or digits, and others anything.
  const std::string digits = fmt::format("{:016x}{:016x}", SystemSeed(), SystemSeed());
  return context_.dialect.family == chat::Family::kMistral ? digits.substr(0, 9)
                                                           : "call_" + digits.substr(0, 24);
}

void Answer::Say(Run& run, std::string_view text, bool is_end, std::vector<SpokenToken> tokens) {
  std::vector<chat::ReplyEvent> events;
  if (run.parser == nullptr) {
    chat::AddEvent(events, {.kind = Kind::kContent, .text = std::string(text)});
  } else {
    run.parser->Push(text, events);
    if (is_end) run.parser->Finish(events);
  }
  if (run.prompt.has_to_call) {
    // All of it is calls: what comes out as text was cut off before it was one.
    std::erase_if(events, [](const auto& event) { return event.kind == Kind::kContent; });
  }
  if (!ask_.parallel_calls) {
    // Only the first call is wanted.
    const auto first_end = std::ranges::find(events, Kind::kCallEnd, &chat::ReplyEvent::kind);
    if (run.has_ended_call) events.clear();
    if (first_end != events.end() && !run.has_ended_call) {
      events.erase(first_end + 1, events.end());
      run.ends_early = true;
    }
  }
  for (chat::ReplyEvent& event : events) {
    run.is_thinking = event.kind == Kind::kThinking;
    if (event.kind == Kind::kCallEnd) run.has_ended_call = true;
    if (event.kind != Kind::kCallBegin) continue;
    run.has_calls = true;
    if (event.id.empty() || context_.dialect.family != chat::Family::kMistral)
      event.id = NewCallId();
  }
  if (events.empty() && tokens.empty()) return;
  last_said_ns_ = context_.clock->NowNs();
  writer_->Say(run.index, events, tokens);
}

void Answer::OnToken(Run& run, const engine::Delta& delta) {
  if (has_failed_ || run.ends_early) return;
  Begin(0);
  const int64_t now_ns = context_.clock->NowNs();
  if (run.last_token_ns == 0) {
    context_.metrics->AddFirstToken(now_ns - start_ns_);
  } else {
    context_.metrics->AddNextToken(now_ns - run.last_token_ns);
  }
  run.last_token_ns = now_ns;
  trace_.AddToken(run.index, now_ns);
  const text::Tokenizer& tokenizer = context_.prompt->tokenizer();
  const bool ends = !ask_.ignores_end && tokenizer.vocab().IsEndOfGeneration(delta.choice.id);
  if (ask_.sampling.logprobs && !ends) {
    // Models may have more tokens than their vocabulary has texts.
    const auto bytes = [&](int32_t id) {
      const auto found = tokenizer.TokenBytes(id);
      return found.ok() ? std::string(*found) : std::string();
    };
    SpokenToken token{.bytes = bytes(delta.choice.id), .logprob = delta.choice.logprob};
    for (const engine::TokenLogprob& top : delta.choice.top)
      token.top.emplace_back(bytes(top.id), top.logprob);
    run.unsaid.push_back(std::move(token));
  }
  run.said_bytes += delta.text.size();
  Say(run, delta.text, false, TakeSaid(run));
  if (run.is_thinking) ++usage_.thinking;
}

// Where an answer may still be cut at a stop string, tokens wait for their text.
std::vector<SpokenToken> Answer::TakeSaid(Run& run) const {
  size_t count = 0;
  for (size_t bytes = run.taken_bytes; count < run.unsaid.size(); ++count) {
    bytes += run.unsaid[count].bytes.size();
    if (!ask_.stops.empty() && bytes > run.said_bytes) break;
    run.taken_bytes = bytes;
  }
  const auto end = run.unsaid.begin() + static_cast<ptrdiff_t>(count);
  std::vector<SpokenToken> said(std::make_move_iterator(run.unsaid.begin()),
                                std::make_move_iterator(end));
  run.unsaid.erase(run.unsaid.begin(), end);
  return said;
}

// Of what a stop string has cut off, tokens that began before it stay.
std::vector<SpokenToken> Answer::TakeLast(Run& run, const engine::Finish& finish) const {
  run.said_bytes += finish.text.size();
  std::vector<SpokenToken> last = TakeSaid(run);
  for (SpokenToken& token : std::exchange(run.unsaid, {})) {
    if (finish.reason == engine::FinishReason::kStopString && run.taken_bytes >= run.said_bytes)
      break;
    run.taken_bytes += token.bytes.size();
    last.push_back(std::move(token));
  }
  return last;
}

void Answer::EndRun(Run& run, const engine::Finish& finish) {
  using engine::FinishReason;
  EndReason reason = EndReason::kStop;
  if (finish.reason == FinishReason::kLength || finish.reason == FinishReason::kContext) {
    reason = EndReason::kLength;
  } else if (run.has_calls) {
    reason = EndReason::kCalls;
  } else if (finish.reason == FinishReason::kStopString) {
    reason = EndReason::kStopString;
  }
  writer_->EndChoice(run.index, reason, finish.stop_string);
}

void Answer::OnFinish(Run& run, const engine::Finish& finish) {
  if (has_failed_) return;
  if (run.masks != nullptr && run.masks->has_failed()) return Fail(ProblemOf(TooCostly()));
  if (finish.reason == engine::FinishReason::kFailed) {
    context_.metrics->Add({.failed = 1});
    return Fail(ProblemOf(finish.status.error()));
  }
  if (finish.reason == engine::FinishReason::kCancelled && !run.ends_early) {
    Problem problem{.status = 504, .message = "the answer took too long"};
    if (!is_late()) problem = {.status = 503, .message = "the server is shutting down"};
    return Fail(problem);
  }
  Begin(0);
  if (!run.ends_early) Say(run, finish.text, true, TakeLast(run, finish));
  const bool has_ended = finish.reason == engine::FinishReason::kStopToken;
  if (run.prompt.has_to_call && has_ended && !run.has_calls) return Fail(NoCall());
  // The token that ends an answer counts, as everywhere.
  usage_.answer += finish.counts.generated;
  // Choices share their prompt, and it is paid for once.
  if (run.index % ask_.choices == 0) usage_.cached += finish.counts.cached;
  const engine::DraftCounts& drafts = finish.counts.drafts;
  usage_.drafted += drafts.drafted;
  usage_.accepted += drafts.accepted;
  context_.metrics->Add({.prompt_tokens = finish.counts.prompt,
                         .cached_tokens = finish.counts.cached,
                         .answer_tokens = finish.counts.generated,
                         .drafted_tokens = drafts.drafted,
                         .accepted_tokens = drafts.accepted,
                         .answers = 1});
  context_.metrics->AddPromptRate(finish.counts.prompt - finish.counts.cached,
                                  finish.times.prefill_ns);
  context_.metrics->AddAnswerRate(
      finish.counts.generated - std::min<uint64_t>(1, finish.counts.generated),
      finish.times.decode_ns);
  EndRun(run, finish);
  if (--runs_left_ == 0) writer_->Finish(usage_);
}

void Answer::Fail(const Problem& problem) {
  if (std::exchange(has_failed_, true)) return;
  writer_->Fail(problem);
}

}  // namespace aster::serve
