// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How many draft tokens a model would accept, measured offline: greedy answers of the model, gone
// through as a loop that speculates would. A draft counts up to the first token that the model
// itself would not have chosen, and the loop goes on behind that one. Drafts come from the text
// before (draft/ngram_proposer.h) and from a second model with the same vocabulary.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "draft/ngram_proposer.h"
#include "engine/generate.h"
#include "gguf/model_files.h"
#include "jinja/template.h"
#include "text/tokenizer.h"
#include "text/vocab_reader.h"

namespace aster {
namespace {

using nlohmann::ordered_json;
using Tokens = std::vector<int32_t>;

constexpr uint32_t kLongestDraft = 8;
constexpr size_t kMaxPromptBytes = size_t{1} << 24;

struct Prompt {
  std::string kind;
  Tokens tokens;
  Tokens answer;  // greedy, with the token that ends it
};

// A model that answers greedily.
class Model {
 public:
  static Result<std::unique_ptr<Model>> Open(const std::string& path) {
    auto model = std::make_unique<Model>();
    model->files_ = std::make_unique<gguf::ModelFiles>(TRY(gguf::ModelFiles::Open(path)));
    model->tokenizer_ =
        TRY(text::Tokenizer::Make(TRY(text::ReadVocab(model->files_->metadata()).In(path))));
    model->model_ = TRY(engine::LocalModel::Load(*model->files_, {}));
    model->sequence_ = std::make_unique<engine::Sequence>(*model->model_);
    return model;
  }

  const text::Vocab& vocab() const { return tokenizer_->vocab(); }

  Result<Tokens> Render(const std::string& prompt) const {
    const auto source = TRY(files_->metadata().Get<std::string_view>("tokenizer.chat_template"));
    const auto chat = TRY(jinja::ChatTemplate::Parse(source));
    const std::string text =
        TRY(chat.Render({{"messages", {{{"role", "user"}, {"content", prompt}}}},
                         {"add_generation_prompt", true}}));
    return tokenizer_->Encode(text, {.parse_special = true});
  }

  // What is shared with the text of the last call is not computed again.
  Result<Tokens> Answer(const Tokens& text, uint64_t max_tokens) {
    sequence_->SetHistory(text);
    engine::Request request;
    request.sequence = sequence_.get();
    request.sampling.temperature = 0;
    request.max_tokens = max_tokens;
    request.stop_tokens = vocab().end_of_generation;
    return TRY(engine::Generate(*model_, tokenizer_.get(), clock_, std::move(request))).tokens;
  }

 private:
  SystemClock clock_;
  std::unique_ptr<gguf::ModelFiles> files_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::unique_ptr<engine::LocalModel> model_;
  std::unique_ptr<engine::Sequence> sequence_;
};

// What a loop would have seen.
struct Counts {
  uint64_t steps = 0;     // of the target model
  uint64_t drafts = 0;    // steps with one
  uint64_t drafted = 0;   // tokens
  uint64_t accepted = 0;  // of them
  uint64_t tokens = 0;    // of answers

  void operator+=(const Counts& other) {
    steps += other.steps;
    drafts += other.drafts;
    drafted += other.drafted;
    accepted += other.accepted;
    tokens += other.tokens;
  }
};

double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Drafts for the text behind each token of the answer: [answer's tokens]. Empty where there is
// none.
using Drafts = std::vector<Tokens>;

Drafts NgramDrafts(const Prompt& prompt) {
  draft::NgramProposer proposer({.max_tokens = kLongestDraft});
  proposer.Append(prompt.tokens);
  Drafts drafts;
  for (const int32_t token : prompt.answer) {
    const auto proposed = proposer.Propose();
    drafts.emplace_back(proposed.begin(), proposed.end());
    proposer.Append(token);
  }
  return drafts;
}

Result<Drafts> ModelDrafts(Model& model, const Prompt& prompt) {
  Drafts drafts;
  Tokens text = prompt.tokens;
  for (const int32_t token : prompt.answer) {
    drafts.push_back(TRY(model.Answer(text, kLongestDraft)));
    text.push_back(token);
  }
  return drafts;
}

// A loop that drafts up to `length` tokens at every step. The target's own choice follows whatever
// was accepted.
Counts Speculate(const Prompt& prompt, const Drafts& drafts, size_t length) {
  Counts counts{.tokens = prompt.answer.size()};
  for (size_t at = 0; at < prompt.answer.size();) {
    const size_t drafted = std::min(length, drafts[at].size());
    size_t accepted = 0;
    while (accepted < drafted && at + accepted < prompt.answer.size() &&
           drafts[at][accepted] == prompt.answer[at + accepted]) {
      ++accepted;
    }
    ++counts.steps;
    counts.drafts += drafted > 0 ? 1 : 0;
    counts.drafted += drafted;
    counts.accepted += accepted;
    at += accepted + 1;
  }
  return counts;
}

// By length of the drafts, from 1 on.
using ByLength = std::vector<Counts>;

struct Table {
  std::string name;  // the drafter
  std::map<std::string, ByLength> kinds;

  void Add(const Prompt& prompt, const Drafts& drafts) {
    for (const std::string& kind : {prompt.kind, std::string("all")}) {
      ByLength& rows = kinds[kind];
      rows.resize(kLongestDraft);
      for (size_t k = 1; k <= kLongestDraft; ++k) rows[k - 1] += Speculate(prompt, drafts, k);
    }
  }
};

Result<std::vector<Prompt>> ReadPrompts(const std::string& path, Model& target, uint64_t longest) {
  const std::string text = TRY(ReadFile(path, kMaxPromptBytes));
  std::vector<Prompt> prompts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const auto json = ordered_json::parse(text.substr(begin, end - begin), nullptr, false);
    begin = end + 1;
    if (!json.is_object() || !json.contains("kind") || !json.contains("prompt")) {
      return InvalidArgument(path + ": every line wants \"kind\" and \"prompt\"");
    }
    Prompt prompt{.kind = json["kind"], .tokens = {}, .answer = {}};
    prompt.tokens = TRY(target.Render(json["prompt"]));
    prompt.answer = TRY(target.Answer(prompt.tokens, longest));
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

ordered_json ToJson(const std::vector<Table>& tables) {
  ordered_json json = ordered_json::array();
  for (const Table& table : tables) {
    for (const auto& [kind, rows] : table.kinds) {
      for (size_t k = 1; k <= rows.size(); ++k) {
        const Counts& counts = rows[k - 1];
        json.push_back({{"guesser", table.name},
                        {"kind", kind},
                        {"length", k},
                        {"tokens", counts.tokens},
                        {"steps", counts.steps},
                        {"guesses", counts.drafts},
                        {"guessed", counts.drafted},
                        {"accepted", counts.accepted},
                        {"steps_with_guess", Ratio(counts.drafts, counts.steps)},
                        {"accepted_per_guess", Ratio(counts.accepted, counts.drafts)},
                        {"acceptance", Ratio(counts.accepted, counts.drafted)},
                        {"tokens_per_step", Ratio(counts.tokens, counts.steps)}});
      }
    }
  }
  return {{"results", std::move(json)}};
}

void Print(const std::vector<Table>& tables) {
  fmt::print("{:<8}{:<11}{:>7}{:>8}{:>8}{:>12}{:>14}{:>12}{:>13}\n", "drafter", "kind", "length",
             "tokens", "steps", "with draft", "per draft", "acceptance", "tokens/step");
  for (const Table& table : tables) {
    for (const auto& [kind, rows] : table.kinds) {
      for (size_t k = 1; k <= rows.size(); ++k) {
        const Counts& c = rows[k - 1];
        fmt::print("{:<8}{:<11}{:>7}{:>8}{:>8}{:>10.1f} %{:>14.2f}{:>10.1f} %{:>13.2f}\n",
                   table.name, kind, k, c.tokens, c.steps, 100 * Ratio(c.drafts, c.steps),
                   Ratio(c.accepted, c.drafts), 100 * Ratio(c.accepted, c.drafted),
                   Ratio(c.tokens, c.steps));
      }
    }
  }
}

struct Options {
  std::string target;
  std::string draft;
  std::string prompts = ASTER_SOURCE_DIR "/bench/acceptance_prompts.jsonl";
  uint64_t longest = 300;
  bool json = false;
};

Status Measure(const Options& options) {
  const auto target = TRY(Model::Open(options.target));
  std::unique_ptr<Model> draft;
  if (!options.draft.empty()) draft = TRY(Model::Open(options.draft));
  if (draft && draft->vocab().tokens != target->vocab().tokens) {
    return InvalidArgument("the two models have different vocabularies");
  }
  const std::vector<Prompt> prompts = TRY(ReadPrompts(options.prompts, *target, options.longest));
  std::vector<Table> tables(draft ? 2 : 1);
  tables[0].name = "n-gram";
  if (draft) tables[1].name = "model";
  for (const Prompt& prompt : prompts) {
    tables[0].Add(prompt, NgramDrafts(prompt));
    if (draft) tables[1].Add(prompt, TRY(ModelDrafts(*draft, prompt)));
  }
  if (options.json) {
    fmt::print("{}\n", ToJson(tables).dump(2));
  } else {
    Print(tables);
  }
  return Ok();
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("How many draft tokens a model would accept.");
  app.add_option("target", options.target, "The model that answers")->required();
  app.add_option("--draft", options.draft, "Draft model, of the same vocabulary");
  app.add_option("--prompts", options.prompts, "JSON lines with kind and prompt");
  app.add_option("-n", options.longest, "The most tokens of an answer");
  app.add_flag("--json", options.json, "Print one JSON document");
  CLI11_PARSE(app, argc, argv);
  if (const Status measured = Measure(options); !measured.ok()) {
    fmt::print(stderr, "acceptance: {}\n", measured.error().message());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace aster

int main(int argc, char** argv) { return aster::Main(argc, argv); }
