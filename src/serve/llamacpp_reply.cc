// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "serve/llamacpp.h"
#include "serve/openai_reply.h"
#include "serve/timings.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

// The tokens with their probabilities and ids.
ordered_json ProbabilitiesJson(std::span<const ResponseToken> tokens) {
  ordered_json list = LogprobsJson(tokens);
  for (size_t i = 0; i < tokens.size(); ++i) {
    list[i]["id"] = tokens[i].id;
    for (size_t j = 0; j < tokens[i].top.size(); ++j)
      list[i]["top_logprobs"][j]["id"] = tokens[i].top[j].id;
  }
  return list;
}

ordered_json SamplingJson(const engine::SamplingOptions& sampling) {
  return {{"temperature", sampling.temperature},
          {"top_k", sampling.top_k},
          {"top_p", sampling.top_p},
          {"min_p", sampling.min_p},
          {"typical_p", sampling.typical_p},
          {"repeat_penalty", sampling.repetition_penalty},
          {"presence_penalty", sampling.presence_penalty},
          {"frequency_penalty", sampling.frequency_penalty}};
}

// For both modes: a stream sends pieces, and the full result at the end.
class LlamaWriter final : public CollectingWriter {
 public:
  LlamaWriter(ReplyFrame frame, const ApiRequest& request)
      : CollectingWriter(std::move(frame), request.raw.size()),
        usages_(request.raw.size()),
        shows_probabilities_(request.sampling.top_logprobs > 0),
        wants_tokens_(request.wants_tokens),
        settings_(SamplingJson(request.sampling)) {
    settings_["seed"] = request.sampling.seed;
    settings_["n_predict"] = request.max_tokens == engine::kNoTokenLimit
                                 ? ordered_json(-1)
                                 : ordered_json(request.max_tokens);
    settings_["stop"] = request.stops;
    for (const RawPrompt& raw : request.raw) prompts_.push_back(raw.text);
    if (request.streams) pieces_.emplace(frame_.stream, PiecesOfReply::Format::kEvents);
  }

  void Await() override {
    if (pieces_) pieces_->KeepAlive();
  }
  void Progress(const PromptProgress& progress) override {
    if (!pieces_) return;
    Send({{"index", 0},
          {"content", ""},
          {"tokens", ordered_json::array()},
          {"stop", false},
          {"prompt_progress", ProgressJson(progress)}});
  }
  void WritePiece(size_t choice, std::span<const chat::ReplyEvent> events,
                  std::span<const ResponseToken> tokens) override {
    CollectingWriter::WritePiece(choice, events, tokens);
    if (!pieces_) return;
    respond::Reply piece;
    piece.Add(events, tokens);
    ordered_json json = PieceJson(choice, piece);
    json["stop"] = false;
    Send(json);
  }
  void Count(size_t choice, const Usage& usage) override { usages_[choice] = usage; }
  void Finish(const Usage& usage) override {
    ordered_json all = ordered_json::array();
    for (size_t i = 0; i < replies_.size(); ++i)
      all.push_back(EndJson(i, replies_.size() == 1 ? usage : usages_[i]));
    if (!pieces_) return SendJson(200, all.size() == 1 ? all.front() : all);
    // The text has already been sent.
    all.front()["content"] = "";
    all.front()["tokens"] = ordered_json::array();
    all.front().erase("completion_probabilities");
    Send(all.front());
    pieces_->End();
  }
  void Fail(const Problem& problem) override {
    if (!pieces_) return SendProblem(*frame_.stream, problem, ProblemForm::kOpenAi);
    if (pieces_->Refuse(problem, ProblemForm::kOpenAi)) return;
    Send(ProblemJson(problem, ProblemForm::kOpenAi));
    pieces_->End();
  }

 private:
  void Send(const ordered_json& json) { pieces_->Write(ServerEvent("", json)); }

  ordered_json PieceJson(size_t choice, const respond::Reply& reply) const {
    ordered_json ids = ordered_json::array();
    for (const ResponseToken& token : reply.tokens) {
      if (wants_tokens_) ids.push_back(token.id);
    }
    ordered_json json = {{"index", choice}, {"content", reply.content}, {"tokens", std::move(ids)}};
    if (shows_probabilities_) json["completion_probabilities"] = ProbabilitiesJson(reply.tokens);
    return json;
  }
  ordered_json EndJson(size_t choice, const Usage& usage) const {
    const ChoiceReply& said = replies_[choice];
    const bool is_word = said.reason == EndReason::kStopString;
    ordered_json json = PieceJson(choice, said);
    json["id_slot"] = 0;
    json["stop"] = true;
    json["model"] = frame_.model;
    json["tokens_predicted"] = usage.answer;
    json["tokens_evaluated"] = usage.prompt;
    json["tokens_cached"] = usage.cached;
    json["generation_settings"] = settings_;
    json["prompt"] = prompts_[choice];
    json["has_new_line"] = said.content.find('\n') != std::string::npos;
    json["truncated"] = false;
    json["stop_type"] = is_word ? "word" : said.reason == EndReason::kLength ? "limit" : "eos";
    json["stopping_word"] = said.stop_string;
    json["timings"] = TimingsJson(usage);
    if (said.ensemble) json["ensemble"] = *said.ensemble;
    return json;
  }

  std::vector<Usage> usages_;  // of each prompt
  const bool shows_probabilities_;
  const bool wants_tokens_;
  ordered_json settings_;
  std::vector<std::string> prompts_;
  std::optional<PiecesOfReply> pieces_;  // if it streams
};

}  // namespace

std::unique_ptr<ReplyWriter> MakeLlamaWriter(ReplyFrame frame, const ApiRequest& request) {
  return std::make_unique<LlamaWriter>(std::move(frame), request);
}

ordered_json PropsJson(const std::string& name, const ModelFacts& facts,
                       const RequestDefaults& defaults, const std::string& version) {
  return {{"default_generation_settings",
           {{"n_ctx", defaults.context_limit}, {"params", SamplingJson(defaults.sampling)}}},
          {"total_slots", facts.slots},
          {"model_alias", name},
          {"modalities", {{"vision", false}, {"audio", false}}},
          {"chat_template", facts.chat_template},
          {"bos_token", facts.bos},
          {"eos_token", facts.eos},
          {"build_info", "asterism " + version}};
}

ordered_json SlotsJson(size_t slots, size_t running, uint32_t context_limit, bool drafts) {
  ordered_json list = ordered_json::array();
  for (size_t i = 0; i < slots; ++i) {
    list.push_back({{"id", i},
                    {"n_ctx", context_limit},
                    {"speculative", drafts},
                    {"is_processing", i < running}});
  }
  return list;
}

}  // namespace aster::serve
